//! Checks a collected graph and computes what the runtime needs at every step.
//!
//! Per scope, with inner scopes taken as one member each: the members from upstream to downstream, their precedence by the scope's
//! policy, and the members that a limit at one of them cancels. Per vertex: the edges in and out, and which ports hold their feeders back.

use crate::Message;
use crate::graphs::graph::{Crossing, Edge, Graph, GraphBuilder, GraphError, Inner, Route};
use crate::graphs::policy::{IntraPolicy, Member};
use crate::terms::ids::{ScopeNo, VertexNo};
use crate::terms::limits::{IN_EDGES_MAX, PORTS_MAX, SCOPE_DEPTH_MAX, VERTICES_MAX};
use crate::terms::limits::{MAILBOX_MESSAGES_MAX, MAILBOX_MESSAGES_MIN, QUERY_MESSAGES_MAX};

impl<M: Message> GraphBuilder<M> {
    /// Checks the graph.
    ///
    /// # Errors
    /// The first fault found: see [`GraphError`].
    pub fn finish(mut self) -> Result<Graph<M>, GraphError> {
        self.check_size()?;
        self.check_borders()?;
        self.wire()?;
        let output = self.check_output()?;
        for scope in 0..self.scopes.len() {
            let members = self.members(scope);
            let members = self.ordered(scope, members)?;
            self.seat(scope, members);
        }
        for scope in 0..self.scopes.len() {
            self.set_precedence(scope);
            self.set_closes(scope);
        }
        self.mark_elastic();
        let has_ahead = self.vertices.iter().any(|vertex| vertex.ahead);
        let each = QUERY_MESSAGES_MAX / self.vertices.len().max(1);
        Ok(Graph {
            vertices: self.vertices,
            edges: self.edges,
            scopes: self.scopes,
            output,
            has_ahead,
            mailbox_messages_max: each.clamp(MAILBOX_MESSAGES_MIN, MAILBOX_MESSAGES_MAX),
        })
    }

    fn name(&self, vertex: usize) -> String {
        self.vertices[vertex].name.clone()
    }

    fn check_size(&self) -> Result<(), GraphError> {
        let (vertices, scopes) = (self.vertices.len(), self.scopes.len());
        if vertices > VERTICES_MAX || scopes > VERTICES_MAX {
            let text = format!("{vertices} vertices and {scopes} scopes, at most {VERTICES_MAX} each");
            return Err(GraphError::TooLarge(text));
        }
        for vertex in &self.vertices {
            if vertex.options.ports > PORTS_MAX {
                return Err(GraphError::TooLarge(format!("ports of `{}`, at most {PORTS_MAX}", vertex.name)));
            }
            if vertex.options.ports == 0 && !vertex.options.source {
                return Err(GraphError::NeverRuns(vertex.name.clone()));
            }
            if vertex.depth > SCOPE_DEPTH_MAX {
                return Err(GraphError::TooDeep(vertex.depth));
            }
            if vertex.depth > 0 && vertex.options.source {
                return Err(GraphError::SourceInScope(vertex.name.clone()));
            }
        }
        Ok(())
    }

    /// An edge stays in its scope, enters a child scope, or leaves to the parent; it is local unless its receiver's instances span
    /// executors.
    fn check_borders(&mut self) -> Result<(), GraphError> {
        if let Some(scope) = (1..self.scopes.len())
            .find(|at| self.scopes[*at].wide && !self.scopes[self.scopes[*at].parent].wide)
        {
            return Err(GraphError::WideInNarrow(scope));
        }
        for index in 0..self.edges.len() {
            let Edge { from, to, crossing, .. } = self.edges[index];
            let (inside, outside) = (self.vertices[from].scope, self.vertices[to].scope);
            let local = self.scopes[outside].wide || matches!(self.edges[index].route, Route::Local);
            if crossing == Crossing::Back {
                if inside != outside || !self.scopes[inside].is_loop() || !local {
                    return Err(GraphError::Backward(self.name(from), self.name(to)));
                }
                continue;
            }
            self.edges[index].crossing = if inside == outside {
                Crossing::Inside
            } else if outside != 0 && self.scopes[outside].parent == inside {
                Crossing::Enter(outside)
            } else if inside != 0 && self.scopes[inside].parent == outside {
                Crossing::Leave
            } else {
                return Err(GraphError::Border(self.name(from), self.name(to)));
            };
            if !local {
                return Err(GraphError::Border(self.name(from), self.name(to)));
            }
        }
        Ok(())
    }

    /// Fills in the edges of vertices and scopes.
    fn wire(&mut self) -> Result<(), GraphError> {
        for index in 0..self.edges.len() {
            let Edge { from, output, to, port, crossing, .. } = self.edges[index];
            if port >= self.vertices[to].options.ports {
                return Err(GraphError::NoSuchPort(self.name(to), port));
            }
            let outputs = &mut self.vertices[from].outputs;
            if outputs.len() <= output {
                outputs.resize(output + 1, None);
            }
            if outputs[output].replace(index).is_some() {
                return Err(GraphError::OutputTwice(self.name(from), output));
            }
            self.edges[index].in_place = self.vertices[to].in_edges.len();
            self.vertices[to].in_edges.push(index);
            let mut entries = 0;
            match crossing {
                Crossing::Inside => {}
                Crossing::Enter(scope) => {
                    if !self.scopes[scope].is_loop() && !self.vertices[from].opens.contains(&scope) {
                        self.vertices[from].opens.push(scope);
                    }
                    self.edges[index].entry_place = self.scopes[scope].entries.len();
                    self.scopes[scope].entries.push(index);
                    entries = self.scopes[scope].entries.len();
                }
                Crossing::Leave => self.scopes[self.vertices[from].scope].exits.push(index),
                Crossing::Back => self.scopes[self.vertices[from].scope].backs.push(index),
            }
            if self.vertices[to].in_edges.len().max(entries) > IN_EDGES_MAX {
                let text = format!("edges into `{}` or its scope, at most {IN_EDGES_MAX}", self.name(to));
                return Err(GraphError::TooLarge(text));
            }
        }
        let mut ports_before = 0;
        for vertex in &mut self.vertices {
            vertex.ports_before = ports_before;
            ports_before += vertex.options.ports;
        }
        for vertex in &self.vertices {
            let fed = |port: usize| vertex.in_edges.iter().any(|edge| self.edges[*edge].port == port);
            if let Some(port) = (0..vertex.options.ports).find(|port| !fed(*port)) {
                return Err(GraphError::PortUnfed(vertex.name.clone(), port));
            }
        }
        Ok(())
    }

    fn check_output(&self) -> Result<usize, GraphError> {
        let output = self.output.ok_or_else(|| GraphError::Output("no vertex was named".to_string()))?;
        let vertex = &self.vertices[output];
        if vertex.scope != 0 {
            return Err(GraphError::Output(format!("`{}` lies inside a scope", vertex.name)));
        }
        if vertex.outputs.first().is_some_and(Option::is_some) {
            return Err(GraphError::Output(format!("output 0 of `{}` also has an edge", vertex.name)));
        }
        Ok(output)
    }

    /// The direct members of a scope: its vertices, then its inner scopes that have an entry, in the order of creation.
    fn members(&self, scope: usize) -> Vec<Inner> {
        let vertices = (0..self.vertices.len()).filter(|vertex| self.vertices[*vertex].scope == scope);
        let scopes = (1..self.scopes.len())
            .filter(|inner| self.scopes[*inner].parent == scope && !self.scopes[*inner].entries.is_empty());
        vertices.map(Inner::Vertex).chain(scopes.map(Inner::Scope)).collect()
    }

    /// The edges that leave a member and stay in its scope, backward ones left out.
    fn member_edges(&self, member: Inner) -> Vec<usize> {
        match member {
            Inner::Vertex(vertex) => {
                let stays =
                    |edge: &usize| !matches!(self.edges[*edge].crossing, Crossing::Back | Crossing::Leave);
                self.vertices[vertex].outputs.iter().flatten().copied().filter(stays).collect()
            }
            Inner::Scope(scope) => self.scopes[scope].exits.clone(),
        }
    }

    /// The member an edge leads to, seen from the scope that its start's member lies in.
    fn target(&self, edge: usize) -> Inner {
        match self.edges[edge].crossing {
            Crossing::Enter(scope) => Inner::Scope(scope),
            _ => Inner::Vertex(self.edges[edge].to),
        }
    }

    /// The members from upstream to downstream (Kahn).
    fn ordered(&self, scope: usize, members: Vec<Inner>) -> Result<Vec<Inner>, GraphError> {
        let place = |member: Inner| members.iter().position(|other| *other == member);
        let mut missing = vec![0_usize; members.len()];
        let mut targets = vec![Vec::new(); members.len()];
        for (at, member) in members.iter().enumerate() {
            for edge in self.member_edges(*member) {
                let to = place(self.target(edge)).expect("an edge's end lies in the scope that it runs in");
                targets[at].push(to);
                missing[to] += 1;
            }
        }
        let mut order: Vec<usize> = (0..members.len()).filter(|member| missing[*member] == 0).collect();
        let mut next = 0;
        while next < order.len() {
            for to in std::mem::take(&mut targets[order[next]]) {
                missing[to] -= 1;
                if missing[to] == 0 {
                    order.push(to);
                }
            }
            next += 1;
        }
        match missing.iter().position(|missing| *missing > 0) {
            Some(member) => Err(GraphError::Cycle(self.member_name(scope, members[member]))),
            None => Ok(order.into_iter().map(|at| members[at]).collect()),
        }
    }

    fn member_name(&self, scope: usize, member: Inner) -> String {
        match member {
            Inner::Vertex(vertex) => self.name(vertex),
            Inner::Scope(inner) => match self.scopes[inner].exits.first() {
                Some(edge) => self.name(self.edges[*edge].from),
                None => format!("scope {inner} in scope {scope}"),
            },
        }
    }

    fn seat(&mut self, scope: usize, members: Vec<Inner>) {
        for (place, member) in members.iter().enumerate() {
            match member {
                Inner::Vertex(vertex) => self.vertices[*vertex].place = place,
                Inner::Scope(inner) => self.scopes[*inner].place = place,
            }
        }
        self.scopes[scope].members = members;
    }

    fn set_precedence(&mut self, scope: usize) {
        let scope = &mut self.scopes[scope];
        let member = |place: u16| match scope.members[usize::from(place)] {
            Inner::Vertex(vertex) => Member::Vertex(VertexNo(vertex)),
            Inner::Scope(inner) => Member::Scope(ScopeNo(inner)),
        };
        let mut places: Vec<u16> = (0..scope.members.len() as u16).collect();
        match &scope.options.intra {
            IntraPolicy::Fifo => return,
            IntraPolicy::Bfs => {}
            IntraPolicy::Dfs => places.reverse(),
            IntraPolicy::By(order) => places.sort_by(|a, b| order(member(*a), member(*b))),
        }
        scope.precedence = vec![0; places.len()];
        for (precedence, place) in places.iter().enumerate() {
            scope.precedence[usize::from(*place)] = precedence as u16;
        }
        scope.by_precedence = places;
    }

    /// For each vertex of the scope: the members all of whose paths within the scope lead to it and nowhere else, and that need not
    /// finish for their own sake.
    fn set_closes(&mut self, scope: usize) {
        for place in 0..self.scopes[scope].members.len() {
            let Inner::Vertex(vertex) = self.scopes[scope].members[place] else { continue };
            let mut closed = vec![false; place + 1];
            closed[place] = true;
            for upstream in (0..place).rev() {
                let member = self.scopes[scope].members[upstream];
                closed[upstream] = self.may_close(member) && self.leads_only_to(member, &closed);
            }
            self.vertices[vertex].closes = (0..place).filter(|upstream| closed[*upstream]).collect();
        }
    }

    fn leads_only_to(&self, member: Inner, closed: &[bool]) -> bool {
        let leaves = match member {
            Inner::Vertex(vertex) => {
                let mut outputs = self.vertices[vertex].outputs.iter().flatten();
                outputs.any(|edge| matches!(self.edges[*edge].crossing, Crossing::Leave | Crossing::Back))
            }
            Inner::Scope(_) => false,
        };
        let edges = self.member_edges(member);
        let place = |edge: &usize| match self.target(*edge) {
            Inner::Vertex(vertex) => self.vertices[vertex].place,
            Inner::Scope(scope) => self.scopes[scope].place,
        };
        !leaves && !edges.is_empty() && edges.iter().map(place).all(|at| closed.get(at) == Some(&true))
    }

    /// True if nothing in the member has effects and none is the graph's output.
    fn may_close(&self, member: Inner) -> bool {
        match member {
            Inner::Vertex(vertex) => {
                !self.vertices[vertex].options.must_finish && self.output != Some(vertex)
            }
            Inner::Scope(scope) => self.scopes[scope].members.iter().all(|member| self.may_close(*member)),
        }
    }

    /// A port that waits for lower ports may hold its feeders back only if all its feeders form a tree leading nowhere else: then no other port
    /// depends on them. Otherwise (a diamond, a self join) holding back could stop the very build side it waits for, so it accepts all messages and
    /// the bytes are charged. Inside a scope all feeders lead back to the one ingress. A port that a backward edge enters never holds back: in a
    /// cycle all members could wait for each other.
    fn mark_elastic(&mut self) {
        for vertex in 0..self.vertices.len() {
            let first = self.vertices[vertex].options.port_order;
            for port in 0..self.vertices[vertex].options.ports {
                let waits = first > 0 && port >= first;
                self.vertices[vertex].elastic[port] = self.fed_backward(vertex, port)
                    || waits && (self.vertices[vertex].depth > 0 || !self.fed_by_trees(vertex, port));
            }
        }
    }

    fn feeders(&self, vertex: usize, port: usize) -> impl Iterator<Item = &Edge<M>> {
        let edges = self.vertices[vertex].in_edges.iter().map(|edge| &self.edges[*edge]);
        edges.filter(move |edge| edge.port == port)
    }

    fn fed_backward(&self, vertex: usize, port: usize) -> bool {
        self.feeders(vertex, port).any(|edge| edge.crossing == Crossing::Back)
    }

    fn fed_by_trees(&self, vertex: usize, port: usize) -> bool {
        let mut seen = vec![false; self.vertices.len()];
        let mut stack: Vec<usize> = self.feeders(vertex, port).map(|edge| edge.from).collect();
        while let Some(feeder) = stack.pop() {
            if std::mem::replace(&mut seen[feeder], true) {
                continue;
            }
            let feeder = &self.vertices[feeder];
            if feeder.outputs.iter().flatten().count() != 1 {
                return false;
            }
            stack.extend(feeder.in_edges.iter().map(|edge| self.edges[*edge].from));
        }
        true
    }
}
