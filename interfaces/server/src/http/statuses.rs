//! Every status of HTTP that this interface answers with, and when; the guide's page lists the same.

/// Statuses and what they mean, in order. Beside them the library that reads HTTP refuses what is no HTTP with 400, 414, 431 or 505, without a body.
pub const STATUSES: [(u16, &str); 19] = [
    (200, "a request other than a statement succeeded: a page, metrics, a roll-back, a revoked token"),
    (201, "a token was given"),
    (202, "a statement was answered; where it failed after its first 256 KiB, `errors` stands at the end"),
    (204, "a browser may ask (CORS)"),
    (304, "a file of the page has not changed"),
    (400, "the statement failed, or the request is wrong"),
    (401, "nobody logged on, or the name, the password or the token is not good"),
    (403, "the user may not do this, or the page of another site asks"),
    (404, "there is no such path, database, transaction or standing query"),
    (405, "the path is asked with another method"),
    (406, "no format of `Accept` is written here"),
    (408, "the body did not come in time"),
    (409, "another request is answered in this transaction"),
    (413, "the body is longer than `messages.max`"),
    (415, "the body is of a type that is not read here"),
    (421, "no password is asked, and `Host` does not name this machine"),
    (429, "too many requests, transactions, tokens or wrong passwords; try again later"),
    (500, "a fault of the server"),
    (503, "try the statement again: a conflict, a deadlock, or the server ends"),
];
