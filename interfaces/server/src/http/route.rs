//! Paths of the interface.

use super::page::{self, PageFile};
use super::refusal::Refusal;
use crate::bolt::answer::DATABASE;
use crate::percent;
use database::Error;
use hyper::{Method, StatusCode};

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `/`
    Root,
    /// A file of the page: `/page/page.js`
    Page(&'static PageFile),
    /// `/health`
    Health,
    /// `/ready`
    Ready,
    /// `/openapi.json`
    Description,
    /// `/metrics`
    Metrics,
    /// `POST /tokens`
    GiveToken,
    /// `DELETE /tokens`
    TakeToken,
    /// `POST /db/neo4j/query/v2`
    Query,
    /// `POST /db/neo4j/query/v2/tx`
    Begin,
    /// `POST /db/neo4j/query/v2/tx/ID`
    RunIn(String),
    /// `POST /db/neo4j/query/v2/tx/ID/commit`
    Commit(String),
    /// `DELETE /db/neo4j/query/v2/tx/ID`
    Rollback(String),
    /// `GET /db/neo4j/subscriptions/NAME`
    Subscribe(String),
}

impl Route {
    /// The route of a request.
    ///
    /// # Errors
    /// There is nothing at this path, or not with this method.
    pub fn of(method: &Method, path: &str) -> Result<Route, Refusal> {
        let parts: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
        let (allowed, route) = match &parts[..] {
            [""] => ("GET", Route::Root),
            ["page", ..] => ("GET", Route::Page(page::find(path).ok_or_else(missing)?)),
            ["health"] => ("GET", Route::Health),
            ["ready"] => ("GET", Route::Ready),
            ["openapi.json"] => ("GET", Route::Description),
            ["metrics"] => ("GET", Route::Metrics),
            ["tokens"] if method == Method::DELETE => ("DELETE", Route::TakeToken),
            ["tokens"] => ("POST", Route::GiveToken),
            ["db", name, rest @ ..] => {
                check_database(name)?;
                of_database(method, rest)?
            }
            _ => return Err(missing()),
        };
        let is_allowed = method.as_str() == allowed || (allowed == "GET" && method == Method::HEAD);
        if !is_allowed {
            let message = format!("{method} is not answered here; {allowed} is");
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, message));
        }
        Ok(route)
    }
    /// Is it answered without authentication?
    pub fn is_public(&self) -> bool {
        matches!(self, Route::Root | Route::Page(_) | Route::Health | Route::Ready | Route::Description)
    }
    /// Does a request of it have a body of JSON?
    pub fn takes_json(&self) -> bool {
        matches!(self, Route::Query | Route::Begin | Route::RunIn(_) | Route::Commit(_))
    }
}

fn of_database(method: &Method, rest: &[&str]) -> Result<(&'static str, Route), Refusal> {
    Ok(match rest {
        ["query", "v2"] => ("POST", Route::Query),
        ["query", "v2", "tx"] => ("POST", Route::Begin),
        ["query", "v2", "tx", id] if method == Method::DELETE => ("DELETE", Route::Rollback((*id).into())),
        ["query", "v2", "tx", id] => ("POST", Route::RunIn((*id).into())),
        ["query", "v2", "tx", id, "commit"] => ("POST", Route::Commit((*id).into())),
        ["subscriptions", name] => ("GET", Route::Subscribe(decoded(name)?)),
        _ => return Err(missing()),
    })
}

fn missing() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "there is nothing at this path; see /openapi.json")
}

fn check_database(name: &str) -> Result<(), Refusal> {
    if [DATABASE, "system"].contains(&name) {
        return Ok(());
    }
    let name = &name[..name.floor_char_boundary(100)];
    let message = format!("there is no database `{name}`; the only one is `{DATABASE}`");
    Err(Error::new("Neo.ClientError.Database.DatabaseNotFound", message).into())
}

/// A part of a path or a query without its percent signs.
pub(super) fn decoded(text: &str) -> Result<String, Refusal> {
    let wrong = || Refusal::invalid("the path has a percent sign that does not begin a byte of UTF-8");
    let bytes = percent::decoded(text).ok_or_else(wrong)?;
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_mean_what_they_say_and_others_nothing() {
        let of = |method: Method, path: &str| Route::of(&method, path).map_err(|refusal| refusal.status);
        assert_eq!(of(Method::GET, "/").ok(), Some(Route::Root));
        assert_eq!(of(Method::POST, "/db/neo4j/query/v2").ok(), Some(Route::Query));
        assert_eq!(of(Method::POST, "/db/neo4j/query/v2/tx/a/commit").ok(), Some(Route::Commit("a".into())));
        assert_eq!(of(Method::DELETE, "/db/neo4j/query/v2/tx/a").ok(), Some(Route::Rollback("a".into())));
        assert_eq!(
            of(Method::GET, "/db/neo4j/subscriptions/a%20b%C3%A4").ok(),
            Some(Route::Subscribe("a bä".into()))
        );
        assert_eq!(of(Method::GET, "/db/neo4j/query/v2"), Err(StatusCode::METHOD_NOT_ALLOWED));
        assert!(matches!(of(Method::GET, "/page/page.js"), Ok(Route::Page(_))));
        assert_eq!(of(Method::POST, "/page/page.js"), Err(StatusCode::METHOD_NOT_ALLOWED));
        for path in [
            "/page",
            "/page/",
            "/page/none.js",
            "/page/../page/page.js",
            "/db/other/query/v2",
            "/db/neo4j/query/v1",
            "/../etc/passwd",
            "/db",
            "//",
        ] {
            assert_eq!(of(Method::POST, path), Err(StatusCode::NOT_FOUND), "{path}");
        }
        assert_eq!(of(Method::GET, "/db/neo4j/subscriptions/%f"), Err(StatusCode::BAD_REQUEST));
    }
}
