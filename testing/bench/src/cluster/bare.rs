//! PostgreSQL alone with the same groups: rows of as many bytes, as many a transaction, as many connections as gates.

use postgres::{Client, NoTls};
use world::clock::monotonic_ns;
use world::threads::in_parallel;

/// Records whose length is looked at.
const LOOKED_AT: i64 = 1_000;

fn connect(address: &str) -> Result<Client, String> {
    Client::connect(address, NoTls).map_err(|error| error.to_string())
}

/// Bytes of a record of the cluster's log, of those that were made last.
pub fn record_bytes(address: &str) -> Result<usize, String> {
    let text = "SELECT coalesce(avg(length(record)), 0)::BIGINT FROM
        (SELECT record FROM tw_log ORDER BY epoch DESC, counter DESC LIMIT $1) AS last";
    let row = connect(address)?.query_one(text, &[&LOOKED_AT]).map_err(|error| error.to_string())?;
    Ok(row.get::<_, i64>(0) as usize)
}

/// Rows a second: serializable transactions of a group of rows each.
pub fn groups(
    address: &str,
    connections: u16,
    group: usize,
    bytes: usize,
    time_ns: u64,
) -> Result<f64, String> {
    let told = |error: postgres::Error| error.to_string();
    let table = "DROP TABLE IF EXISTS bare; CREATE TABLE bare (connection INT, number BIGINT, record BYTEA NOT NULL, PRIMARY KEY (connection, number))";
    connect(address)?.batch_execute(table).map_err(told)?;
    let (begin_ns, record) = (monotonic_ns(), vec![7_u8; bytes]);
    let counts = in_parallel("bare", usize::from(connections), |connection| -> Result<u64, String> {
        let mut client = connect(address)?;
        let text = "INSERT INTO bare SELECT $1, n, $4 FROM generate_series($2::BIGINT, $3::BIGINT) AS n";
        let insert = client.prepare(text).map_err(told)?;
        let mut rows = 0;
        while monotonic_ns() - begin_ns < time_ns {
            let level = postgres::IsolationLevel::Serializable;
            let mut transaction = client.build_transaction().isolation_level(level).start().map_err(told)?;
            let (first, last) = (rows as i64, rows as i64 + group as i64 - 1);
            transaction.execute(&insert, &[&(connection as i32), &first, &last, &record]).map_err(told)?;
            transaction.commit().map_err(told)?;
            rows += group as u64;
        }
        Ok(rows)
    });
    let rows = counts.into_iter().sum::<Result<u64, String>>()?;
    connect(address)?.batch_execute("DROP TABLE bare").map_err(told)?;
    Ok(rows as f64 * 1e9 / time_ns as f64)
}
