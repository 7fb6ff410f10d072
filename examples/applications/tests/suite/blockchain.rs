//! Blocks as they were and as they are shown, and taint beside a search.

use applications::blockchain::{Block, Explorer, drawn};
use applications::search;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use world::files::TemporaryFolder;

/// The obvious twin: over how many spendings money of an address reached each transaction.
fn taint(blocks: &[Block], address: &str) -> BTreeMap<String, i64> {
    let all: Vec<_> = blocks.iter().flat_map(|block| &block.transactions).collect();
    let pays =
        |outputs: &[(i64, Option<String>)]| outputs.iter().any(|(_, to)| to.as_deref() == Some(address));
    let mut found: BTreeMap<String, i64> =
        all.iter().filter(|one| pays(&one.outputs)).map(|one| (one.txid.clone(), 0)).collect();
    for steps in 1.. {
        let spends = |one: &&&applications::blockchain::Transaction| {
            !found.contains_key(&one.txid)
                && one.inputs.iter().any(|(from, _)| found.get(from) == Some(&(steps - 1)))
        };
        let next: Vec<String> = all.iter().filter(spends).map(|one| one.txid.clone()).collect();
        if next.is_empty() {
            break;
        }
        found.extend(next.into_iter().map(|txid| (txid, steps)));
    }
    found
}

/// Groups of addresses whose money was spent together, the largest first.
fn clusters(blocks: &[Block]) -> Vec<usize> {
    let all = || blocks.iter().flat_map(|block| &block.transactions);
    let outputs: BTreeMap<(String, i64), String> = all()
        .flat_map(|one| {
            let output = move |(at, (_, to)): (usize, &'_ (i64, Option<String>))| (at, to.clone());
            one.outputs
                .iter()
                .enumerate()
                .map(output)
                .filter_map(move |(at, to)| Some(((one.txid.clone(), at as i64), to?)))
        })
        .collect();
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for one in all() {
        let spent: BTreeSet<String> =
            one.inputs.iter().filter_map(|input| outputs.get(input).cloned()).collect();
        let (touched, mut rest): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| !group.is_disjoint(&spent));
        rest.push(touched.into_iter().flatten().chain(spent).collect());
        groups = rest;
    }
    let mut sizes: Vec<usize> = groups.iter().map(BTreeSet::len).filter(|size| *size > 1).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}

#[test]
fn blocks_are_shown_as_they_came_and_taint_is_what_a_search_finds() {
    let folder = TemporaryFolder::new("blockchain").unwrap();
    let blocks = drawn(12, 40, 3);
    let mut explorer = Explorer::open(Some(folder.path())).unwrap();
    let mut alerts = explorer.watch(true).unwrap();
    explorer.add(&blocks[0]).unwrap();
    let flagged = blocks[0].transactions[0].outputs[0].1.clone().unwrap();
    assert!(explorer.flag(&flagged).unwrap() && !explorer.flag("nobody").unwrap());
    let mut told = BTreeMap::<String, i64>::new();
    let mut listen = |wanted: BTreeSet<String>| {
        for _ in 0..200 {
            if told.keys().cloned().collect::<BTreeSet<_>>() == wanted {
                break;
            }
            for change in alerts.next(Duration::from_millis(50)).unwrap() {
                *told.entry(change.txid).or_default() += change.difference;
            }
            told.retain(|_, count| *count != 0);
        }
        assert_eq!(told.keys().cloned().collect::<BTreeSet<_>>(), wanted);
    };
    for height in 1..blocks.len() {
        explorer.add(&blocks[height]).unwrap();
        listen(taint(&blocks[..=height], &flagged).into_keys().collect());
    }
    assert!(taint(&blocks, &flagged).len() > 5);
    assert!(explorer.add(&blocks[3]).is_err(), "it is there");
    for block in &blocks {
        assert_eq!(explorer.render(&block.hash).unwrap(), block.transactions);
    }
    for at in 0..5 {
        let address = format!("address{}", at * 100);
        let found: BTreeMap<String, i64> = explorer.taint(&address).unwrap().into_iter().collect();
        assert_eq!(found, taint(&blocks, &address), "{address}");
        assert_eq!(found, search::taint(&blocks, &address), "{address}");
    }
    let sizes: Vec<usize> =
        explorer.clusters(1_000).unwrap().iter().map(|(_, size)| *size as usize).collect();
    assert_eq!(sizes, clusters(&blocks));
    assert_eq!(sizes, search::clusters(&blocks));
    assert!(sizes[0] > 2, "{sizes:?}");
    explorer.unflag(&flagged).unwrap();
    listen(BTreeSet::new());
    drop((alerts, explorer));
    let mut explorer = Explorer::open(Some(folder.path())).unwrap();
    assert_eq!(explorer.blocks().unwrap().len(), blocks.len());
    assert_eq!(explorer.render("block7").unwrap(), blocks[7].transactions);
}

#[test]
fn blocks_are_read_from_json() {
    let json = r#"{"height": 7, "hash": "b7", "previousblockhash": "b6", "time": 99, "tx": [
        {"txid": "t1", "vin": [{"coinbase": "00"}], "vout": [{"n": 0, "value": 50, "type": "pubkey"}]},
        {"txid": "t2", "vin": [{"txid": "t1", "vout": 0}], "vout": [{"n": 0, "value": 20, "address": "a"}, {"n": 1, "value": 30, "address": "b"}]}]}"#;
    let block = Block::read(json).unwrap();
    assert_eq!((block.height, &*block.previous, block.transactions.len()), (7, "b6", 2));
    assert_eq!(block.transactions[0].outputs, [(50, None)]);
    assert_eq!(block.transactions[1].inputs, [("t1".to_string(), 0)]);
    let mut explorer = Explorer::open(None).unwrap();
    explorer.add(&block).unwrap();
    assert_eq!(explorer.render("b7").unwrap(), block.transactions);
    for wrong in ["", "[]", "{\"hash\": \"x\"}", "{\"height\": 1}"] {
        assert!(Block::read(wrong).is_err(), "{wrong}");
    }
}
