//! The tables of TPC-H: as batches of rows that are written as vertices, and as files for others.
//!
//! A vertex a row, an edge for each foreign key; a line item reaches its part and its supplier through the stock of the one at the other.

use database::Value;
use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use tpchgen::csv::*;
use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::*;
use world::files;

/// Orders in a commit, with all of their line items.
const ORDERS_A_COMMIT: usize = 1_000;
/// Parts in a commit, with all of their stock: four rows each.
const PARTS_A_COMMIT: usize = 250;

/// Keys by which rows are found while others are written.
pub const KEYED: [&str; 7] = ["Region", "Nation", "Supplier", "Customer", "Part", "PartSupp", "Order"];

const REGION: &str = "UNWIND $rows AS r CREATE (:Region {key: r[0], name: r[1]})";
const NATION: &str = "UNWIND $rows AS r MATCH (g:Region {key: r[1]})
    CREATE (:Nation {key: r[0], name: r[2]})-[:IN_REGION]->(g)";
const SUPPLIER: &str = "UNWIND $rows AS r MATCH (n:Nation {key: r[1]})
    CREATE (:Supplier {key: r[0], name: r[2], address: r[3], phone: r[4], acctbal: r[5], comment: r[6]})-[:IN_NATION]->(n)";
const CUSTOMER: &str = "UNWIND $rows AS r MATCH (n:Nation {key: r[1]})
    CREATE (:Customer {key: r[0], name: r[2], address: r[3], phone: r[4], acctbal: r[5], mktsegment: r[6], comment: r[7]})
        -[:IN_NATION]->(n)";
const PART: &str = "UNWIND $rows AS r
    CREATE (:Part {key: r[0], name: r[1], mfgr: r[2], brand: r[3], type: r[4], size: r[5], container: r[6], retailprice: r[7]})";
const PARTSUPP: &str = "UNWIND $rows AS r MATCH (p:Part {key: r[1]}), (s:Supplier {key: r[2]})
    CREATE (p)<-[:OF_PART]-(:PartSupp {key: r[0], availqty: r[3], supplycost: r[4]})-[:FROM_SUPPLIER]->(s)";
const ORDER: &str = "UNWIND $rows AS r MATCH (c:Customer {key: r[1]})
    CREATE (:Order {key: r[0], status: r[2], totalprice: r[3], date: r[4], priority: r[5], shippriority: r[6], comment: r[7]})
        -[:PLACED_BY]->(c)";
const LINEITEM: &str = "UNWIND $rows AS r MATCH (o:Order {key: r[0]}), (ps:PartSupp {key: r[1]})
    CREATE (o)<-[:OF_ORDER]-(:Lineitem {number: r[2], quantity: r[3], extendedprice: r[4], discount: r[5], tax: r[6],
        returnflag: r[7], linestatus: r[8], shipdate: r[9], commitdate: r[10], receiptdate: r[11], shipinstruct: r[12],
        shipmode: r[13]})-[:OF_STOCK]->(ps)";

/// The rows that one transaction writes.
pub struct Batch {
    /// Statements with their `$rows`.
    pub writes: Vec<(&'static str, Value)>,
    /// Rows in all.
    pub rows: usize,
    /// The greatest part key (stock) or order key (sales) in it.
    pub last_key: i64,
}

impl Batch {
    fn new(writes: Vec<(&'static str, Vec<Value>)>, last_key: i64) -> Batch {
        let rows = writes.iter().map(|(_, rows)| rows.len()).sum();
        let writes = writes.into_iter().map(|(text, rows)| (text, Value::list(rows))).collect();
        Batch { writes, rows, last_key }
    }
}

/// All rows of a scale factor.
pub struct Tables {
    /// Regions, nations, suppliers, customers and parts.
    pub small: Batch,
    /// The rows of the stock, some parts a batch.
    pub stock: Vec<Batch>,
    /// Orders with their line items, some orders a batch.
    pub sales: Vec<Batch>,
}

/// A row from things that convert to values.
macro_rules! row {
    ($($field:expr),*) => { Value::list(vec![$(Value::from($field)),*]) };
}

impl Tables {
    /// Generated anew: the official generator's rows.
    pub fn generate(factor: f64) -> Tables {
        let stock: Vec<PartSupp<'_>> = PartSuppGenerator::new(factor, 1, 1).iter().collect();
        let of_stock = stock.chunk_by(|a, b| part_group(a) == part_group(b));
        let stock = of_stock.map(|rows| {
            let last = rows.last().map_or(0, |row| row.ps_partkey);
            Batch::new(vec![(PARTSUPP, rows.iter().map(partsupp).collect())], last)
        });
        Tables { small: small(factor), stock: stock.collect(), sales: sales(factor) }
    }
    /// Rows in all.
    pub fn rows(&self) -> usize {
        self.small.rows + self.stock.iter().chain(&self.sales).map(|batch| batch.rows).sum::<usize>()
    }
}

fn part_group(row: &PartSupp<'_>) -> i64 {
    (row.ps_partkey - 1) / PARTS_A_COMMIT as i64
}

fn small(factor: f64) -> Batch {
    let regions = RegionGenerator::new(factor, 1, 1);
    let nations = NationGenerator::new(factor, 1, 1);
    let suppliers = SupplierGenerator::new(factor, 1, 1);
    let customers = CustomerGenerator::new(factor, 1, 1);
    let parts = PartGenerator::new(factor, 1, 1);
    let supplier = |s: Supplier| {
        let (name, address, phone) = (text(s.s_name), text(s.s_address), text(s.s_phone));
        row![s.s_suppkey, s.s_nationkey, name, address, phone, money(s.s_acctbal), s.s_comment]
    };
    let customer = |c: Customer<'_>| {
        let (name, address, phone) = (text(c.c_name), text(c.c_address), text(c.c_phone));
        let (segment, comment) = (c.c_mktsegment, c.c_comment);
        row![c.c_custkey, c.c_nationkey, name, address, phone, money(c.c_acctbal), segment, comment]
    };
    let part = |p: Part<'_>| {
        let (name, mfgr, brand) = (text(p.p_name), text(p.p_mfgr), text(p.p_brand));
        let (size, price) = (i64::from(p.p_size), money(p.p_retailprice));
        row![p.p_partkey, name, mfgr, brand, p.p_type, size, p.p_container, price]
    };
    let nation = |n: Nation<'_>| row![n.n_nationkey, n.n_regionkey, n.n_name];
    let writes = vec![
        (REGION, regions.iter().map(|r| row![r.r_regionkey, r.r_name]).collect()),
        (NATION, nations.iter().map(nation).collect()),
        (SUPPLIER, suppliers.iter().map(supplier).collect()),
        (CUSTOMER, customers.iter().map(customer).collect()),
        (PART, parts.iter().map(part).collect()),
    ];
    Batch::new(writes, 0)
}

fn sales(factor: f64) -> Vec<Batch> {
    let orders: Vec<Order<'_>> = OrderGenerator::new(factor, 1, 1).iter().collect();
    let items = LineItemGenerator::new(factor, 1, 1);
    let mut items = items.iter().peekable();
    let batches = orders.chunks(ORDERS_A_COMMIT).map(|orders| {
        let last_key = orders.last().map_or(0, |order| order.o_orderkey);
        let mut lines = Vec::new();
        while let Some(item) = items.next_if(|item| item.l_orderkey <= last_key) {
            lines.push(lineitem(&item));
        }
        Batch::new(vec![(ORDER, orders.iter().map(order).collect()), (LINEITEM, lines)], last_key)
    });
    batches.collect()
}

/// The key of a part's stock at a supplier. There are at most 10,000 suppliers for each unit of scale.
fn stock_key(part: i64, supplier: i64) -> i64 {
    part * 1_000_000 + supplier
}

fn partsupp(s: &PartSupp<'_>) -> Value {
    let key = stock_key(s.ps_partkey, s.ps_suppkey);
    row![key, s.ps_partkey, s.ps_suppkey, i64::from(s.ps_availqty), money(s.ps_supplycost)]
}

fn order(o: &Order<'_>) -> Value {
    let (status, price, when) = (text(o.o_orderstatus), money(o.o_totalprice), date(o.o_orderdate));
    let shippriority = i64::from(o.o_shippriority);
    row![o.o_orderkey, o.o_custkey, status, price, when, o.o_orderpriority, shippriority, o.o_comment]
}

fn lineitem(l: &LineItem<'_>) -> Value {
    let stock = stock_key(l.l_partkey, l.l_suppkey);
    let (price, discount, tax) = (money(l.l_extendedprice), money(l.l_discount), money(l.l_tax));
    let (shipped, committed, received) = (date(l.l_shipdate), date(l.l_commitdate), date(l.l_receiptdate));
    row![
        l.l_orderkey,
        stock,
        i64::from(l.l_linenumber),
        l.l_quantity,
        price,
        discount,
        tax,
        l.l_returnflag,
        l.l_linestatus,
        shipped,
        committed,
        received,
        l.l_shipinstruct,
        l.l_shipmode
    ]
}

fn text(value: impl Display) -> String {
    value.to_string()
}

fn money(value: TPCHDecimal) -> f64 {
    value.as_f64()
}

fn date(value: TPCHDate) -> Value {
    Value::Date(model::temporal::Date { days: i64::from(value.to_unix_epoch()) })
}

/// Writes one file a table, `name.csv` with a head line.
pub fn write_files(factor: f64, folder: &Path) -> Result<(), String> {
    let write = |name: &str, head: &str, rows: &mut dyn Iterator<Item = String>| {
        let mut writer = files::create_writer(&folder.join(name)).map_err(|error| error.to_string())?;
        let mut lines = std::iter::once(head.to_string()).chain(rows);
        let written = lines.try_for_each(|line| writeln!(writer, "{line}")).and_then(|()| writer.flush());
        written.map_err(|error| error.to_string())
    };
    macro_rules! table {
        ($name:literal, $generator:ident, $csv:ident) => {
            let rows = $generator::new(factor, 1, 1);
            write($name, $csv::header(), &mut rows.iter().map(|row| $csv::new(row).to_string()))?;
        };
    }
    table!("region.csv", RegionGenerator, RegionCsv);
    table!("nation.csv", NationGenerator, NationCsv);
    table!("supplier.csv", SupplierGenerator, SupplierCsv);
    table!("customer.csv", CustomerGenerator, CustomerCsv);
    table!("part.csv", PartGenerator, PartCsv);
    table!("partsupp.csv", PartSuppGenerator, PartSuppCsv);
    table!("orders.csv", OrderGenerator, OrderCsv);
    table!("lineitem.csv", LineItemGenerator, LineItemCsv);
    Ok(())
}
