/** Rows that came and went, by second. */
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { SECONDS, type Tally } from './tally'

const HEIGHT = 140

interface Properties {
  tally: Tally
  isDark: boolean
}

function dataOf(tally: Tally): UPlot.AlignedData {
  const now = Math.floor(Date.now() / 1_000)
  const seconds = Array.from({ length: SECONDS }, (_, at) => now - SECONDS + 1 + at)
  return [seconds, seconds.map((second) => tally.perSecond.get(second)?.came ?? 0), seconds.map((second) => -(tally.perSecond.get(second)?.went ?? 0))]
}

export function Chart({ tally, isDark }: Properties) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
    const bars = UPlot.paths.bars?.({ size: [0.9, 12] })
    const axis = { stroke: colour('--text-soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line') } }
    const series = (label: string, name: string): UPlot.Series => ({
      label,
      stroke: colour(name),
      fill: colour(name),
      points: { show: false },
      ...(bars ? { paths: bars } : {}),
    })
    const options: UPlot.Options = {
      width: element.clientWidth || 400,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_, low, high) => [Math.min(low, -1), Math.max(high, 1)] } },
      axes: [axis, { ...axis, size: 46 }],
      series: [{}, series('came', '--good'), series('went', '--bad')],
    }
    const plot = new UPlot(options, dataOf(tally), element)
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }))
    resize.observe(element)
    const timer = setInterval(() => plot.setData(dataOf(tally)), 500)
    return () => {
      clearInterval(timer)
      resize.disconnect()
      plot.destroy()
    }
  }, [tally, isDark])
  return <div ref={box} className="chart" role="img" aria-label="Rows that came and went in the last two minutes" />
}
