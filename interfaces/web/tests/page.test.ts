/** What of the page needs no browser: texts taken apart, values, files, events, sums. Random cases come from a seed that a failure names. */
import { describe, expect, test } from 'vitest'
import { parseError } from '../src/api/client'
import { Node, read, readPlain, Relationship, show, toJson, type Value } from '../src/api/values'
import { EventParser } from '../src/live/events'
import { Tally } from '../src/live/tally'
import { parametersOf } from '../src/live/watch'
import { jsonOf, readTable, recordsOf } from '../src/load/table-file'
import { hasSecret, languageOf, offsetOf, statementAt, statementsOf } from '../src/query/statements'
import { field } from '../src/results/csv'
import { EDGES_MAX, GraphModel } from '../src/results/graph-model'
import { measure } from '../src/results/plan'
import { canTravel } from '../src/results/time-travel'

/** Numbers from 0 to below `bound`, the same for the same seed. */
function random(seed: number): (bound: number) => number {
  let state = seed >>> 0
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}

const SEEDS = Array.from({ length: 60 }, (_, at) => at * 7919 + 1)

describe('statements', () => {
  test('semicolons in quotes, names and comments divide nothing', () => {
    const text = "RETURN ';' AS a; // no; end\nMATCH (`a;b`) /* ; */ RETURN \"x\\\";y\";;\n  \nRETURN 3"
    expect(statementsOf(text).map((one) => one.text)).toEqual(["RETURN ';' AS a", 'MATCH (`a;b`) /* ; */ RETURN "x\\";y"', 'RETURN 3'])
    for (const one of statementsOf(text)) expect(text.slice(one.from, one.to)).toBe(one.text)
    expect(statementAt(text, 3)?.text).toBe("RETURN ';' AS a")
    expect(statementAt(text, text.length)?.text).toBe('RETURN 3')
    expect(statementsOf("RETURN 'open; and never closed")).toHaveLength(1)
    expect(statementsOf(' ; ;; // nothing')).toEqual([])
  })
  test('pieces that are joined by semicolons come apart as they were', () => {
    const pieces = ['RETURN 1', "RETURN ';'", 'MATCH (`;`)', 'CALL { /* ; */ }', 'RETURN "a\\";"', 'RETURN 2 // x;\n + 1']
    for (const seed of SEEDS) {
      const next = random(seed)
      const chosen = Array.from({ length: 1 + next(6) }, () => pieces[next(pieces.length)] ?? '')
      const blank = () => ['', ' ', '\n', '\t\n '][next(4)] ?? ''
      const text = chosen.map((one) => blank() + one + blank()).join(';')
      expect(statementsOf(text).map((one) => one.text), `seed ${seed}`).toEqual(chosen)
    }
  })
  test('languages, secrets, parameters, and what can be asked of the past', () => {
    expect(['g.V()', 'g . V()', 'DATALOG { p(1). }', 'AS OF 3 DATALOG { p(1). }', 'MATCH (g) RETURN g.x'].map(languageOf)).toEqual([
      'gremlin', 'gremlin', 'datalog', 'datalog', 'cypher',
    ])
    expect(hasSecret("CREATE USER a SET password 'x'") && !hasSecret('MATCH (p) RETURN p')).toBe(true)
    expect(parametersOf("MATCH (a {x: $id, y: '$no'}) WHERE a.`$no` = $id AND a.z > $ü // $no")).toEqual(['id', 'ü'])
    const travels = (statement: string) => canTravel({ statement })
    expect(['MATCH (n) RETURN n', "MATCH (n {a: 'SET'}) RETURN n", 'MATCH (n) SET n.a = 1', 'AS OF 1 RETURN 1', 'g.V()', 'SHOW USERS'].map(travels)).toEqual([
      true, true, false, false, false, false,
    ])
  })
  test('columns count characters, not halves of them', () => {
    expect(offsetOf('a\n😀b c', 2, 3)).toBe(5)
    expect(offsetOf('ab', 1, 99)).toBe(2)
    expect(offsetOf('ab', 9, 1)).toBe(2)
  })
})

test('an error is taken apart into sentence, place and hint', () => {
  const message = "unexpected 'RETRUN'\n  --> line 2, column 3\n2 |   RETRUN n\n  |   ^^^^^^\nhint: did you mean RETURN?"
  const error = parseError({ code: 'A.B', message })
  expect([error.message, error.hint, error.place]).toEqual(["unexpected 'RETRUN'", 'did you mean RETURN?', { line: 2, column: 3, length: 6 }])
  const bare = parseError({ code: 'A.B', message: 'no\nhint: yes' })
  expect([bare.message, bare.hint, bare.place]).toEqual(['no', 'yes', undefined])
})

describe('values', () => {
  const typed = (type: string, value: unknown) => ({ $type: type, _value: value })
  test('nothing is lost', () => {
    const big = read(typed('Integer', '9007199254740993'))
    expect([show(big), toJson(big)]).toEqual(['9007199254740993', '9007199254740993'])
    expect([show(read(typed('Float', '1.0'))), toJson(read(typed('Float', 'NaN')))]).toEqual(['1.0', '"NaN"'])
    const map = read(typed('Map', JSON.parse('{"__proto__": {"$type": "Boolean", "_value": true}}')))
    expect(toJson(map)).toBe('{"__proto__":true}')
    const node = typed('Node', { _element_id: '4:a:1', _labels: ['A'], _properties: { name: typed('String', '<b>') } })
    expect(show(read(node))).toBe('(:A {name: "<b>"})')
  })
  test('a long value is written as far as it is shown', () => {
    const long = readPlain({ list: Array.from({ length: 2_000_000 }, (_, at) => at), text: 'x'.repeat(1_000_000) })
    const beganMs = performance.now()
    for (let round = 0; round < 1_000; round++) expect(show(long, 300)).toHaveLength(300)
    expect(performance.now() - beganMs).toBeLessThan(5_000)
    for (const max of [0, 1, 2, 7, 8, 40]) {
      const value = readPlain({ a: [1, 'two', { b: null }], c: 'd' })
      expect(show(value, max)).toBe(show(value).slice(0, max))
    }
    // Two million values take a busy machine a while to make, before anything is measured.
  }, 60_000)
  test('plain JSON comes back as it was', () => {
    for (const seed of SEEDS) {
      const next = random(seed)
      const make = (depth: number): unknown => {
        const kind = next(depth > 3 ? 4 : 6)
        if (kind === 0) return null
        if (kind === 1) return next(2) === 1
        if (kind === 2) return next(1000) - 500
        if (kind === 3) return ['', 'a"b', 'ü\n', '\\'][next(4)]
        if (kind === 4) return Array.from({ length: next(4) }, () => make(depth + 1))
        return Object.fromEntries(Array.from({ length: next(4) }, (_, at) => [`k${at}`, make(depth + 1)]))
      }
      const json = JSON.stringify(make(0))
      expect(toJson(readPlain(JSON.parse(json))), `seed ${seed}`).toBe(json)
    }
  })
})

describe('files', () => {
  test('records that were written come back, whatever is in them', () => {
    const cells = ['', 'a', 'x,y', 'say "hi"', 'two\nlines', ' ', "'", '007', 'é;']
    for (const seed of SEEDS) {
      const next = random(seed)
      const width = 1 + next(4)
      const records = Array.from({ length: 1 + next(5) }, () => ['r', ...Array.from({ length: width }, () => cells[next(cells.length)] ?? '')])
      const write = (cell: string) => (/[",\n]/.test(cell) || next(3) === 0 ? `"${cell.replaceAll('"', '""')}"` : cell)
      const end = ['\n', '\r\n'][next(2)] ?? '\n'
      const text = records.map((record) => record.map(write).join(',')).join(end) + (next(2) === 1 ? end : '')
      expect(recordsOf(text, ','), `seed ${seed}: ${JSON.stringify(text)}`).toEqual(records)
    }
  })
  test('columns have kinds, and codes stay texts', () => {
    const table = readTable('a.csv', 'id;code;w;ok\n1;007;2;true\n-2;12;2.5;FALSE\n3;;;\n')
    expect(table.kinds).toEqual(['integer', 'text', 'float', 'boolean'])
    expect(jsonOf(table, 0, 3)).toBe('[{"id":1,"code":"007","w":2.0,"ok":true},{"id":-2,"code":"12","w":2.5,"ok":false},{"id":3}]')
    expect(readTable('a.ndjson', '{"a":1}\n{"b":[1]}\n').rows).toEqual([['1', 'null'], ['null', '[1]']])
    expect(() => readTable('a.csv', 'a,a\n1,2\n')).toThrow('a name of its own')
    expect(() => readTable('a.csv', 'a\n1,2\n')).toThrow('row 1 has 2 fields')
    expect(() => readTable('a.json', '[1]')).toThrow('objects')
  })
  test('a spreadsheet runs no text as a formula', () => {
    expect(['=1+1', 'a,b', '-x', null, 'plain'].map(field)).toEqual(["'=1+1", '"a,b"', "'-x", '', 'plain'])
  })
})

test('events are the same wherever the stream is cut', () => {
  const stream = 'event: fields\ndata: {"fields":["a"]}\n\n: nothing yet\n\nid: 1.2\nevent: changes\ndata: {"x":\ndata: 1}\n\n'
  const whole = new EventParser().push(stream)
  expect(whole.map(({ name, id, data }) => [name, id, data])).toEqual([
    ['fields', undefined, '{"fields":["a"]}'],
    ['changes', '1.2', '{"x":\n1}'],
  ])
  for (const seed of SEEDS) {
    const next = random(seed)
    const parser = new EventParser()
    const found = []
    for (let at = 0; at < stream.length; ) {
      const to = at + 1 + next(9)
      found.push(...parser.push(stream.slice(at, to)))
      at = to
    }
    expect(found, `seed ${seed}`).toEqual(whole)
  }
})

test('differences add up to the answer', () => {
  for (const seed of SEEDS) {
    const next = random(seed)
    const tally = new Tally()
    const counts = new Map<string, number>()
    for (let commit = 0; commit < 40; commit++) {
      const changes = Array.from({ length: next(5) }, () => ({ difference: next(2) === 0 ? 1 : -1, row: [next(4)] as Value[] }))
      for (const { difference, row } of changes) counts.set(toJson(row), (counts.get(toJson(row)) ?? 0) + difference)
      tally.add(commit, commit, commit, changes)
    }
    const expected = [...counts].filter(([, count]) => count !== 0).sort()
    expect([...tally.rows].map(([key, { count }]) => [key, count]).sort(), `seed ${seed}`).toEqual(expected)
    expect(tally.log.length).toBeLessThanOrEqual(300)
  }
})

test('the operator that took most is found', () => {
  const leaf = { operatorType: 'Scan', identifiers: [], arguments: {}, children: [], time: 5e6 }
  const root = { operatorType: 'Limit', identifiers: [], arguments: {}, children: [{ ...leaf, operatorType: 'Sort', time: 9e6, children: [leaf] }], time: 1 }
  const measured = measure(root)
  expect(measured.operators.map(({ node, depth }) => [node.operatorType, depth])).toEqual([['Limit', 0], ['Sort', 1], ['Scan', 2]])
  expect(measured.hottest?.operatorType).toBe('Sort')
})

describe('graph', () => {
  test('rows make the same graph in one piece and in slices, in whatever order they come', () => {
    for (const seed of SEEDS.slice(0, 20)) {
      const next = random(seed)
      const nodes = Array.from({ length: 30 }, (_, at) => new Node(`n${at}`, ['N'], {}))
      const edges = Array.from({ length: 60 }, (_, at) => new Relationship(`r${at}`, 'T', `n${next(33)}`, `n${next(30)}`, {}))
      const rows: Value[][] = [...nodes, ...edges].map((one) => [one])
      for (let at = rows.length - 1; at > 0; at--) {
        const other = next(at + 1)
        ;[rows[at], rows[other]] = [rows[other] ?? [], rows[at] ?? []]
      }
      const [whole, sliced] = [new GraphModel(), new GraphModel()]
      whole.addRows(rows, 0, rows.length)
      for (let from = 0; from < rows.length; ) {
        const to = Math.min(rows.length, from + 1 + next(9))
        sliced.addRows(rows, from, to)
        from = to
      }
      const of = (model: GraphModel) => [[...model.nodes.keys()].sort(), [...model.relationships.keys()].sort(), model.graph.edges().sort()]
      expect(of(sliced), `seed ${seed}`).toEqual(of(whole))
      expect(whole.relationships.size, `seed ${seed}`).toBe(edges.filter((one) => Number(one.source.slice(1)) < 30).length)
    }
  })
  test('a node that is taken away takes only its own relationships along, also those that wait', () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => new Node(id, [], {}))
    const edge = (source: string, target: string) => new Relationship(source + target, 'T', source, target, {})
    const model = new GraphModel()
    model.addRows([[a!, edge('a', 'b'), edge('c', 'b'), edge('c', 'd')]], 0, 1)
    model.remove('a')
    model.addRows([[a!, b!, c!, d!]], 0, 1)
    expect([...model.relationships.keys()]).toEqual(['cb', 'cd'])
    expect(model.isCut).toBe(false)
  })
  test('relationships that find no room while they wait are told as left out', () => {
    const model = new GraphModel()
    const rows = Array.from({ length: EDGES_MAX + 1 }, (_, at) => [new Relationship(`${at}`, 'T', 'a', 'b', {})])
    model.addRows(rows, 0, EDGES_MAX)
    expect(model.isCut).toBe(false)
    model.addRows(rows, EDGES_MAX, EDGES_MAX + 1)
    expect(model.isCut).toBe(true)
  })
})
