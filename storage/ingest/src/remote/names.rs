//! URLs as texts: the known forms, and their parts.

use formats::urls::redacted;

/// Is a text the URL of something that can be brought?
#[must_use]
pub fn is_url(text: &str) -> bool {
    scheme(text).is_some_and(|scheme| KNOWN.contains(&scheme.as_str()))
}

/// Schemes of URLs, and the other names that some have.
const KNOWN: [&str; 9] = ["http", "https", "file", "s3", "s3a", "gs", "az", "abfs", "abfss"];

pub(super) fn scheme(text: &str) -> Option<String> {
    text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase())
}

/// The last part of a URL's path.
pub(super) fn file_name(url: &str) -> String {
    let url = redacted(url);
    let name = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    let name = name.rsplit('/').find(|part| !part.is_empty()).unwrap_or("file");
    let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
    let name: String = name.chars().filter(|character| !matches!(character, '/' | '\0')).collect();
    // No name that means a folder, or that is passed over.
    match name.trim_start_matches('.') {
        "" => "file".into(),
        name => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_paths_and_name_their_file() {
        for (text, expected) in [
            ("s3://b/x", true),
            ("HTTPS://x/a.csv", true),
            ("file:///a", true),
            ("a.csv", false),
            ("c:/a.csv", false),
            ("ftp://x/a", false),
            ("-", false),
        ] {
            assert_eq!(is_url(text), expected, "{text}");
        }
        for (url, name) in [
            ("https://x.org/a/b.csv.gz?token=secret", "b.csv.gz"),
            ("https://x.org/a%20b.csv", "a b.csv"),
            ("https://x.org", "file"),
            ("https://x.org/", "file"),
            ("https://x.org/..", "file"),
            ("https://x.org/%2e%2e%2fetc", "etc"),
            ("https://x.org/.hidden", "hidden"),
        ] {
            assert_eq!(file_name(url), name, "{url}");
        }
    }
}
