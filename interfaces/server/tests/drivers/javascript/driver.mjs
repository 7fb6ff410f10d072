// The official JavaScript driver against the server: what its users do, unchanged. Usage: node driver.mjs PORT
import assert from 'node:assert/strict'
import neo4j from 'neo4j-driver'

const url = `bolt://127.0.0.1:${process.argv[2]}`
const auth = neo4j.auth.basic('neo4j', 'secret')
const driver = neo4j.driver(url, auth)

async function connect () {
  const info = await driver.getServerInfo()
  assert.ok(info.protocolVersion >= 5.8, `Bolt ${info.protocolVersion}`)
  for (const scheme of ['bolt', 'neo4j']) {
    const other = neo4j.driver(url.replace('bolt', scheme), auth)
    await other.verifyConnectivity({ database: 'neo4j' })
    const { records } = await other.executeQuery('RETURN 1 AS x', {}, { routing: 'READ' })
    assert.equal(records[0].get('x').toNumber(), 1)
    await other.close()
  }
}

async function values () {
  const sent = {
    null: null,
    bool: true,
    ints: [0, -1, 127, 128].map(i => neo4j.int(i)).concat([neo4j.int('-9223372036854775808'), neo4j.int('9223372036854775807')]),
    float: 1.5,
    text: 'grüße \u{1F600} ' + 'x'.repeat(70000),
    bytes: new Int8Array([0, -1]),
    map: { a: [neo4j.int(1), { b: [] }] },
    date: new neo4j.types.Date(2024, 2, 29),
    time: new neo4j.types.Time(1, 2, 3, 4, 3600),
    localTime: new neo4j.types.LocalTime(1, 2, 3, 4),
    local: new neo4j.types.LocalDateTime(2020, 1, 2, 3, 4, 5, 6),
    instant: new neo4j.types.DateTime(2026, 11, 20, 12, 30, 15, 500, 7200),
    zoned: new neo4j.types.DateTime(2026, 7, 20, 12, 30, 15, 500, 7200, 'Europe/Berlin'),
    duration: new neo4j.types.Duration(14, 3, 5, 7),
    point: new neo4j.types.Point(neo4j.int(7203), 1.0, 2.0),
    globe: new neo4j.types.Point(neo4j.int(4979), 1.0, 2.0, 3.0)
  }
  const { records } = await driver.executeQuery('RETURN $sent AS got', { sent })
  const got = records[0].get('got')
  for (const [name, value] of Object.entries(sent)) {
    if (name === 'bytes') assert.deepEqual([...got.bytes], [...value])
    else if (value?.toString && typeof value === 'object' && !Array.isArray(value) && name !== 'map') assert.equal(got[name].toString(), value.toString(), name)
    else assert.deepEqual(got[name], value, name)
  }
  const graph = await driver.executeQuery("CREATE p = (a:Person {name: 'Ada'})-[r:KNOWS {since: 1833}]->(b:Person) RETURN a, r, p")
  const [a, r, p] = ['a', 'r', 'p'].map(name => graph.records[0].get(name))
  assert.deepEqual([a.labels, a.properties.name, r.type, r.startNodeElementId], [['Person'], 'Ada', 'KNOWS', a.elementId])
  assert.equal(p.length, 1)
  const counters = graph.summary.counters.updates()
  assert.deepEqual([counters.nodesCreated, counters.relationshipsCreated, counters.labelsAdded], [2, 1, 2])
}

async function managed () {
  await driver.executeQuery('CREATE (:JsCounter {n: 0})')
  const increment = async tx => {
    const { records } = await tx.run('MATCH (c:JsCounter) RETURN c.n AS n')
    await tx.run('MATCH (c:JsCounter) SET c.n = $n', { n: records[0].get('n').add(1) })
  }
  const work = async () => {
    const session = driver.session()
    for (let i = 0; i < 10; i++) await session.executeWrite(increment)
    await session.close()
  }
  await Promise.all([work(), work(), work(), work()])
  const { records } = await driver.executeQuery('MATCH (c:JsCounter) RETURN c.n')
  assert.equal(records[0].get(0).toNumber(), 40)
  const session = driver.session()
  const tx = await session.beginTransaction()
  await tx.run('CREATE (:JsGone)')
  await tx.rollback()
  assert.equal((await session.run('MATCH (g:JsGone) RETURN count(*)')).records[0].get(0).toNumber(), 0)
  await session.close()
}

async function streaming () {
  const session = driver.session()
  let rows = 0
  let sum = 0
  await new Promise((resolve, reject) => {
    session.run('UNWIND range(1, 1000) AS i UNWIND range(1, 1000) AS j RETURN i * 1000 + j AS n, \'text\' AS t, 0.5 AS f').subscribe({
      onNext: record => { rows++; sum += record.get('n').toNumber() },
      onCompleted: resolve,
      onError: reject
    })
  })
  assert.deepEqual([rows, sum], [1000000, 1000 * 1000 * 500500 + 1000 * 500500])
  await session.close()
}

async function cancel () {
  const endless = 'UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j RETURN sum(i * j)'
  const session = driver.session()
  await assert.rejects(session.run(endless, {}, { timeout: 200 }), { code: /TransactionTimedOut/ })
  await session.close()
  // Closing a session gives up what runs in it.
  const other = driver.session()
  const began = Date.now()
  const tx = await other.beginTransaction()
  const rows = tx.run('UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j RETURN i')[Symbol.asyncIterator]()
  assert.equal((await rows.next()).value.get('i').toNumber(), 1)
  await other.close()
  assert.ok(Date.now() - began < 5000)
}

async function errors () {
  const session = driver.session()
  const fails = async (text, code, gqlStatus, params = {}) => {
    const error = await session.run(text, params).then(() => assert.fail(text), error => error)
    assert.deepEqual([error.code, error.gqlStatus], [code, gqlStatus], text)
    return error
  }
  const syntax = await fails('MATCH (n) RETRUN n', 'Neo.ClientError.Statement.SyntaxError', '42001')
  assert.match(syntax.message, /\^\^/)
  assert.equal(syntax.classification, 'CLIENT_ERROR')
  await fails('RETURN $missing', 'Neo.ClientError.Statement.ParameterMissing', '42N51')
  assert.equal((await session.run('RETURN 1')).records.length, 1, 'usable after failures')
  await session.close()
  const reading = driver.session({ defaultAccessMode: neo4j.session.READ })
  await assert.rejects(reading.run('CREATE (:Z)'), { code: 'Neo.ClientError.Statement.AccessMode' })
  await reading.close()
  const elsewhere = driver.session({ database: 'elsewhere' })
  await assert.rejects(elsewhere.run('RETURN 1'), { code: 'Neo.ClientError.Database.DatabaseNotFound' })
  await elsewhere.close()
}

async function bookmarks () {
  const first = driver.session()
  await first.run('CREATE (:JsMarked)')
  const marks = first.lastBookmarks()
  assert.equal(marks.length, 1)
  await first.close()
  const second = driver.session({ bookmarks: marks })
  assert.equal((await second.run('MATCH (m:JsMarked) RETURN count(*)')).records[0].get(0).toNumber(), 1)
  await second.close()
  const stranger = driver.session({ bookmarks: ['nonsense'] })
  await assert.rejects(stranger.run('RETURN 1'), { code: 'Neo.ClientError.Transaction.InvalidBookmark' })
  await stranger.close()
}

async function notifications () {
  const { summary } = await driver.executeQuery('MATCH (n:JsUnknown) RETURN n')
  const [status] = summary.gqlStatusObjects.filter(status => status.gqlStatus === '01N50')
  assert.deepEqual([status.severity, status.classification, status.position.column], ['WARNING', 'UNRECOGNIZED', 10])
  assert.ok(summary.gqlStatusObjects.some(status => status.gqlStatus === '02000'), 'no data')
  assert.equal(summary.notifications[0].code, 'Neo.ClientNotification.Statement.UnknownLabelWarning')
  const quiet = neo4j.driver(url, auth, { notificationFilter: { minimumSeverityLevel: 'OFF' } })
  assert.equal((await quiet.executeQuery('MATCH (n:JsUnknown) RETURN n')).summary.notifications.length, 0)
  await quiet.close()
}

for (const check of [connect, values, managed, streaming, cancel, errors, bookmarks, notifications]) {
  const began = Date.now()
  await check()
  console.log(`${check.name}: ok, ${((Date.now() - began) / 1000).toFixed(2)} s`)
}
await driver.close()
