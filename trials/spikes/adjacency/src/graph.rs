//! Seeded graphs and the flat CSR twin that every candidate is checked and measured against.

/// SplitMix64: small, seeded, the same everywhere.
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, bound: u64) -> u64 {
        ((self.next() as u128 * bound as u128) >> 64) as u64
    }
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub struct Csr {
    pub offsets: Vec<u32>,
    pub neighbours: Vec<u32>,
}

impl Csr {
    pub fn build(vertices: u32, edges: &[(u32, u32)]) -> Csr {
        let mut offsets = vec![0u32; vertices as usize + 1];
        for &(from, _) in edges {
            offsets[from as usize + 1] += 1;
        }
        for i in 0..vertices as usize {
            offsets[i + 1] += offsets[i];
        }
        let mut cursor = offsets.clone();
        let mut neighbours = vec![0u32; edges.len()];
        for &(from, to) in edges {
            neighbours[cursor[from as usize] as usize] = to;
            cursor[from as usize] += 1;
        }
        for v in 0..vertices as usize {
            neighbours[offsets[v] as usize..offsets[v + 1] as usize].sort_unstable();
        }
        Csr { offsets, neighbours }
    }
    pub fn list(&self, v: u32) -> &[u32] {
        &self.neighbours[self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize]
    }
    pub fn vertices(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }
    pub fn hub(&self) -> u32 {
        (0..self.vertices()).max_by_key(|&v| self.list(v).len()).unwrap_or(0)
    }
}

fn permutation(count: u32, chance: &mut Chance) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..count).collect();
    for i in (1..count as usize).rev() {
        ids.swap(i, chance.below(i as u64 + 1) as usize);
    }
    ids
}

/// Chung-Lu: both ends drawn with weight (rank + 10)^(-1/(exponent-1)), ids shuffled.
pub fn chung_lu(vertices: u32, edges: usize, exponent: f64, seed: u64) -> Vec<(u32, u32)> {
    let mut chance = Chance(seed);
    let mut cumulative = Vec::with_capacity(vertices as usize);
    let mut total = 0.0;
    for rank in 0..vertices {
        total += (rank as f64 + 10.0).powf(-1.0 / (exponent - 1.0));
        cumulative.push(total);
    }
    let ids = permutation(vertices, &mut chance);
    let draw = |chance: &mut Chance| {
        let at = chance.unit() * total;
        ids[cumulative.partition_point(|&c| c < at).min(vertices as usize - 1)]
    };
    (0..edges).map(|_| (draw(&mut chance), draw(&mut chance))).collect()
}

/// RMAT with the Graph500 parameters (.57 .19 .19 .05), ids shuffled.
pub fn rmat(scale: u32, edge_factor: usize, seed: u64) -> Vec<(u32, u32)> {
    let mut chance = Chance(seed);
    let ids = permutation(1 << scale, &mut chance);
    let mut edges = Vec::with_capacity(edge_factor << scale);
    for _ in 0..edge_factor << scale {
        let (mut from, mut to) = (0u32, 0u32);
        for _ in 0..scale {
            let r = chance.unit();
            let (a, b) = if r < 0.57 {
                (0, 0)
            } else if r < 0.76 {
                (0, 1)
            } else if r < 0.95 {
                (1, 0)
            } else {
                (1, 1)
            };
            from = from << 1 | a;
            to = to << 1 | b;
        }
        edges.push((ids[from as usize], ids[to as usize]));
    }
    edges
}
