/** Rows of an answer that scroll: only those in sight exist as elements, so 100,000 rows cost as much as forty. */
import { type CSSProperties, type ReactNode, useCallback, useEffect, useRef, useState } from 'react'

/** Rows drawn above and below those in sight. */
const MARGIN = 8

interface Properties {
  count: number
  rowHeight: number
  /** Draws a row; it is laid over the scrolled area by `style`. */
  row(at: number, style: CSSProperties): ReactNode
  head?: ReactNode
  label: string
  className?: string
  columns?: number
  onKey?(key: string): boolean
  /** A row that must be in sight. */
  reveal?: number | undefined
}

export function Rows(properties: Properties) {
  const { count, rowHeight, row, head, label } = properties
  const box = useRef<HTMLDivElement>(null)
  const [span, setSpan] = useState({ top: 0, height: 600 })

  const look = useCallback(() => {
    const element = box.current
    if (element) setSpan({ top: element.scrollTop, height: element.clientHeight })
  }, [])
  useEffect(() => {
    look()
    const watch = new ResizeObserver(look)
    if (box.current) watch.observe(box.current)
    return () => watch.disconnect()
  }, [look])
  useEffect(() => {
    const element = box.current
    const at = properties.reveal
    if (!element || at === undefined) return
    const top = at * rowHeight
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + rowHeight * 2 > element.scrollTop + element.clientHeight) element.scrollTop = top + rowHeight * 2 - element.clientHeight
  }, [properties.reveal, rowHeight])

  const first = Math.max(0, Math.floor(span.top / rowHeight) - MARGIN)
  const last = Math.min(count, Math.ceil((span.top + span.height) / rowHeight) + MARGIN)
  const shown: ReactNode[] = []
  for (let at = first; at < last; at++) shown.push(row(at, { top: at * rowHeight, height: rowHeight }))
  return (
    <div
      ref={box}
      className={`rows ${properties.className ?? ''}`}
      onScroll={look}
      tabIndex={0}
      role={head ? 'grid' : 'list'}
      aria-label={label}
      aria-rowcount={head ? count + 1 : undefined}
      aria-colcount={properties.columns}
      onKeyDown={(event) => {
        if (properties.onKey?.(event.key)) event.preventDefault()
      }}
    >
      {head}
      <div className="rows-area" role="presentation" style={{ height: count * rowHeight }}>
        {shown}
      </div>
    </div>
  )
}
