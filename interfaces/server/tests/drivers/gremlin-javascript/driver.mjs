// TinkerPop's JavaScript driver against the server: what its users do, unchanged. Usage: node driver.mjs PORT
import assert from 'node:assert/strict'
import gremlin from 'gremlin'

const url = `ws://127.0.0.1:${process.argv[2]}/gremlin`
const { Client, DriverRemoteConnection } = gremlin.driver
const { traversal, AnonymousTraversalSource } = gremlin.process
const { P, TextP, order, t, merge, column, statics: __ } = gremlin.process
const ENDLESS = 'g.inject(1).repeat(__.identity()).until(__.is(2))'

async function traversals (options) {
  const connection = new DriverRemoteConnection(url, { traversalSource: 'g', ...options })
  const g = traversal().withRemote(connection)
  await g.V().drop().iterate()
  await g.addV('person').property('name', 'ada').property('age', 36).as('a')
    .addV('person').property('name', 'bob').property('age', 20).as('b')
    .addE('knows').from_('a').to('b').property('since', 1833).iterate()
  assert.equal((await g.V().count().next()).value, 2)
  assert.deepEqual(await g.V().has('age', P.gt(30)).values('name').toList(), ['ada'])
  assert.deepEqual(await g.V().has('name', TextP.startingWith('b')).values('age').toList(), [20])
  assert.deepEqual(await g.V().order().by('age', order.asc).values('name').toList(), ['bob', 'ada'])
  const ada = (await g.V().has('name', 'ada').next()).value
  assert.equal(ada.label, 'person')
  const properties = Array.isArray(ada.properties) ? ada.properties : Object.values(ada.properties).flat()
  assert.ok(properties.some(property => property.value === 'ada'))
  const edge = (await g.E().next()).value
  assert.deepEqual([edge.label, edge.outV.id, edge.inV.label], ['knows', ada.id, 'person'])
  assert.deepEqual(await g.V(ada).out('knows').values('name').toList(), ['bob'])
  assert.deepEqual(await g.V(ada.id).outE().inV().path().by('name').by('since').toList().then(all => all[0].objects), ['ada', 1833, 'bob'])
  const map = (await g.V(ada.id).elementMap('name').next()).value
  assert.equal(map.get('name'), 'ada')
  assert.equal(map.get(t.label) ?? [...map.entries()].find(([key]) => key.elementName === 'label')?.[1], 'person')
  const counts = (await g.V().groupCount().by(t.label).next()).value
  assert.equal(counts.get('person'), 2)
  const found = await g.V().repeat(__.out()).until(__.outE().count().is(0)).dedup().values('name').toList()
  assert.deepEqual(found, ['bob'])
  await g.mergeV(new Map([[t.label, 'person'], ['name', 'eve']])).option(merge.onCreate, new Map([['age', 1]])).iterate()
  assert.deepEqual(await g.V().has('name', 'eve').values('age').toList(), [1])
  await assert.rejects(g.V().has('name', 'ada').fail('on purpose').iterate(), /on purpose/)
  await assert.rejects(g.inject('a').math('_ + 1').toList())
  // Many parts, more than fit one frame.
  const many = await g.inject(0).repeat(__.union(__.identity(), __.identity())).times(14).limit(10000).toList()
  assert.equal(many.length, 10000)
  await connection.close()
}

async function transactions () {
  const connection = new DriverRemoteConnection(url, { traversalSource: 'g' })
  const g = traversal().withRemote(connection)
  const before = (await g.V().count().next()).value
  const open = g.tx()
  const inside = await open.begin()
  await inside.addV('tx').iterate()
  assert.equal((await inside.V().count().next()).value, before + 1)
  assert.equal((await g.V().count().next()).value, before)
  await open.rollback()
  const again = g.tx()
  const kept = await again.begin()
  await kept.addV('tx').iterate()
  await again.commit()
  assert.equal((await g.V().count().next()).value, before + 1)
  await connection.close()
}

async function scripts () {
  const client = new Client(url, { traversalSource: 'g' })
  const parameters = await client.submit('g.inject(x, y)', { x: 1, y: ['two', 3.5] })
  assert.deepEqual(parameters.toArray(), [1, ['two', 3.5]])
  await assert.rejects(client.submit('g.V().nothing()'), error => error.statusCode === 597)
  await assert.rejects(client.submit(ENDLESS, {}, { evaluationTimeout: 100 }), error => error.statusCode === 598)
  let streamed = 0
  const script = 'g.inject(0).repeat(__.union(__.identity(), __.identity())).times(12)'
  for await (const part of client.stream(script, {}, { batchSize: 100 })) streamed += part.length
  assert.equal(streamed, 4096)
  await client.close()
  const session = new Client(url, { traversalSource: 'g', processor: 'session', session: 'a-session-of-js' })
  await session.submit("g.addV('session')")
  assert.deepEqual((await session.submit("g.V().hasLabel('session').count()")).toArray(), [1])
  await session.close()
  const other = new Client(url, { traversalSource: 'g' })
  assert.deepEqual((await other.submit("g.V().hasLabel('session').count()")).toArray(), [0])
  // One that goes while its traversal runs: the server must end it.
  const gone = other.submit(ENDLESS).catch(() => 'gone')
  await new Promise(resolve => setTimeout(resolve, 200))
  await other.close()
  await Promise.race([gone, new Promise(resolve => setTimeout(resolve, 1000))])
}

await traversals({})
await traversals({ mimeType: 'application/vnd.gremlin-v3.0+json' })
await transactions()
await scripts()
console.log('gremlin-javascript: traversals in both formats, transactions, scripts, sessions, streams, errors')
process.exit(0)
