//! Files behind URLs, as `LOAD` reads them: a trait that a crate with the protocol implements. And the parts of a URL that may be shown.

use std::io::Write;

/// Who reads URLs, by rules of its own.
pub trait UrlReader: Send + Sync {
    /// Writes the content of a URL into `sink`; `goes_on` is polled now and then. It may take long: not for the threads of queries.
    ///
    /// # Errors
    /// The rules forbid it, it cannot be read, or `goes_on` returned false.
    fn read(&self, url: &str, sink: &mut dyn Write, goes_on: &dyn Fn() -> bool) -> Result<(), String>;
}

/// A URL as messages and listings show it: without what may be a secret, the user and the password before its host, and what stands behind `?` or `#`.
/// A text that is no URL stays as it is.
#[must_use]
pub fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_string() };
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let authority_end = rest.find('/').unwrap_or(rest.len());
    let (authority, behind) = rest.split_at(authority_end);
    let user_end = authority.rfind('@').map(|at| at + 1);
    match user_end {
        // A password with a slash, or a path with an `@` behind what is no port: nobody knows.
        None if behind.contains('@') && !ends_as_host(authority) => format!("{scheme}://…"),
        // The container of a store of Azure stands there.
        Some(_) if scheme.to_ascii_lowercase().starts_with("abfs") => format!("{scheme}://{}", &rest[..end]),
        Some(start) if start <= end => format!("{scheme}://{}", &rest[start..end]),
        // A password with a question mark, or a query without a path: nobody knows.
        Some(_) => format!("{scheme}://…"),
        None => format!("{scheme}://{}", &rest[..end]),
    }
}

/// Is the part behind the host's name empty, or a port?
fn ends_as_host(authority: &str) -> bool {
    let behind_address = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let name_and_port = behind_address.map_or(authority, |(_, behind)| behind);
    let port = name_and_port.split_once(':').map(|(_, port)| port);
    port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn what_is_shown_of_a_url_has_no_secret() {
        for (url, shown) in [
            ("https://x.org/a", "https://x.org/a"),
            ("https://ada:secret@x.org/a@b?token=secret", "https://x.org/a@b"),
            ("https://x.org/a@b#secret", "https://x.org/a@b"),
            ("https://ada:sec@ret@x.org", "https://x.org"),
            ("https://ada:sec?ret@x.org/a", "https://…"),
            ("https://x.org?mail=ada@x.org", "https://…"),
            ("https://x.org?token=secret", "https://x.org"),
            ("https://ada:se/cret@x.org/a", "https://…"),
            ("https://ada:/secret@x.org/a", "https://…"),
            ("https://ada:12s/ecret@x.org", "https://…"),
            ("https://ada:s:1/ecret@x.org", "https://…"),
            ("https://ada:se?c/ret@x.org", "https://…"),
            ("https://ada:se/cret@x.org?token=secret", "https://…"),
            ("https://x.org:443/a@b", "https://x.org:443/a@b"),
            ("https://x.org:443/a?mail=ada@x.org", "https://x.org:443/a"),
            ("https://[::1]/a@b", "https://[::1]/a@b"),
            ("https://[::1]:443/a@b", "https://[::1]:443/a@b"),
            ("https://[::1]:4s/ecret@x.org", "https://…"),
            ("https://ada:secret/a", "https://ada:secret/a"),
            ("file:///srv/a:b@c", "file:///srv/a:b@c"),
            ("s3://key:se/cret@box/a", "s3://…"),
            ("s3://key:secret@box/a", "s3://box/a"),
            ("abfs://box@account.host/a?sig=secret", "abfs://box@account.host/a"),
            ("a@b.csv", "a@b.csv"),
            ("folder/a?b.csv", "folder/a?b.csv"),
            ("", ""),
        ] {
            assert_eq!(redacted(url), shown, "{url}");
        }
    }
}
