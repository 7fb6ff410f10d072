/** The plan of EXPLAIN and PROFILE as a tree: what each operator does, how many rows, how much of the time. The one that takes most is marked. */
import type { Plan as PlanNode } from '../api/client'

/** Operators that are drawn. */
const OPERATORS_MAX = 2_000
/** Entries of an operator that are shown elsewhere, or are the same for all. */
const HIDDEN = /^(Details|EstimatedRows|Rows|Time|DbHits|PageCache.*|planner.*|runtime.*|version)$/

export interface Measured {
  /** All operators, the root first. */
  operators: { node: PlanNode; depth: number }[]
  totalMs: number
  hottest: PlanNode | undefined
}

/** The operators in the order of the tree, and where the time went. */
export function measure(root: PlanNode): Measured {
  const operators: Measured['operators'] = []
  const open: { node: PlanNode; depth: number }[] = [{ node: root, depth: 0 }]
  while (open.length > 0 && operators.length < OPERATORS_MAX) {
    const next = open.pop()
    if (!next) break
    operators.push(next)
    for (const child of [...next.node.children].reverse()) open.push({ node: child, depth: next.depth + 1 })
  }
  const times = operators.map(({ node }) => node.time ?? 0)
  const total = times.reduce((sum, time) => sum + time, 0)
  const most = Math.max(...times)
  const hottest = most > 0 ? operators[times.indexOf(most)]?.node : undefined
  return { operators, totalMs: total / 1e6, hottest }
}

export function Plan({ plan, isProfile }: { plan: PlanNode; isProfile: boolean }) {
  const { operators, totalMs, hottest } = measure(plan)
  return (
    <div className="plan" tabIndex={0}>
      <p className="soft">
        {operators.length} operators
        {isProfile && `, ${showMs(totalMs)} of work`}. Rows flow from the bottom to the top.
        {!isProfile && ' Rows are estimates: PROFILE runs the statement and counts.'}
      </p>
      <ul aria-label="Operators of the plan" role="tree">
        {operators.map(({ node, depth }, at) => (
          <Operator key={at} node={node} depth={depth} totalMs={totalMs} isHot={node === hottest} isProfile={isProfile} />
        ))}
      </ul>
    </div>
  )
}

interface OperatorProperties {
  node: PlanNode
  depth: number
  totalMs: number
  isHot: boolean
  isProfile: boolean
}

function Operator({ node, depth, totalMs, isHot, isProfile }: OperatorProperties) {
  const estimate = Number(node.arguments.EstimatedRows)
  const share = totalMs > 0 ? (node.time ?? 0) / 1e6 / totalMs : 0
  // Ten times too many or too few: the planner knew little.
  const isOff = isProfile && node.rows !== undefined && estimate > 0 && Math.abs(Math.log10((node.rows + 1) / (estimate + 1))) > 1
  const more = Object.entries(node.arguments).filter(([key]) => !HIDDEN.test(key))
  return (
    <li role="treeitem" aria-level={depth + 1} className={`operator${isHot ? ' hot' : ''}`} style={{ marginLeft: Math.min(depth, 30) * 18 }}>
      <div className="operator-head">
        <strong>{node.operatorType.replace(/@.*/, '')}</strong>
        {isHot && <span className="hot-mark">takes most</span>}
        <span className="grow" />
        {isProfile && (
          <span>
            <span className="is-number">{(node.rows ?? 0).toLocaleString('en')}</span> rows
          </span>
        )}
        {Number.isFinite(estimate) && (
          <span className={isOff ? 'off' : 'soft'} title={isOff ? 'far from what came' : undefined}>
            {isProfile ? 'expected' : 'about'} {roundly(estimate)}
            {!isProfile && ' rows'}
          </span>
        )}
        {isProfile && (
          <span className="share">
            <span className="share-bar" style={{ width: `${Math.round(share * 100)}%` }} />
            <span>{showMs((node.time ?? 0) / 1e6)}</span>
          </span>
        )}
      </div>
      {Boolean(node.arguments.Details) && <code className="details">{String(node.arguments.Details)}</code>}
      {more.length > 0 && (
        <p className="soft">
          {more.map(([key, value]) => (
            <span key={key} className="argument">
              {key}: {String(value)}
            </span>
          ))}
        </p>
      )}
    </li>
  )
}

function roundly(rows: number): string {
  return rows >= 100 ? Math.round(rows).toLocaleString('en') : Number(rows.toPrecision(2)).toString()
}

function showMs(ms: number): string {
  return ms >= 1_000 ? `${(ms / 1_000).toFixed(2)} s` : `${ms.toFixed(ms < 10 ? 2 : 0)} ms`
}
