//! The command `tanglewood`.
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let db = database::Database::open(&args[2], database::Options::default()).expect("open");
    match args[1].as_str() {
        "query" => {
            let r = db.session().query(&args[3], database::params! {}).and_then(|r| { println!("{:?}", r.columns()); if let Some(t) = &r.summary().plan_text { println!("{t}"); } r.rows() });
            match r { Ok(rows) => rows.iter().take(50).for_each(|row| println!("{row:?}")), Err(e) => println!("{}: {e}", e.code) }
        }
        "import" => println!("{:?}", db.import(&database::ImportOptions { from: args[3].clone().into(), ..Default::default() }).map_err(|e| e.to_string())),
        "serve" => {
            let s = server::Server::start(db, &server::ServeOptions { bolt: args[3].clone() }).expect("start");
            println!("listening on {}", s.address());
            s.wait_for_signal();
        }
        _ => {}
    }
}
