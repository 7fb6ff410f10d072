/** Which labels are drawn, how, and with which caption; a click on one changes its looks. */
import { useState } from 'react'
import type { GraphModel } from './graph-model'
import { setStyle, SIZES, styleOf } from './graph-style'

/** Labels that the legend names. */
const SHOWN_MAX = 12

export function Legend({ model, onChange }: { model: GraphModel; onChange(): void }) {
  const [open, setOpen] = useState<string>()
  const labels = model.labels()
  return (
    <div className="legend" role="group" aria-label="Labels">
      {labels.slice(0, SHOWN_MAX).map(([label, count]) => (
        <button key={label} type="button" aria-expanded={open === label} onClick={() => setOpen(open === label ? undefined : label)}>
          <span className="dot" style={{ background: styleOf(label).colour }} /> {label || 'no label'} <span className="soft">{count.toLocaleString('en')}</span>
        </button>
      ))}
      {labels.length > SHOWN_MAX && <span className="soft">and {labels.length - SHOWN_MAX} more</span>}
      {open !== undefined && (
        <LabelForm
          label={open}
          keys={model.keysOf(open)}
          onChange={() => {
            onChange()
          }}
        />
      )}
    </div>
  )
}

function LabelForm({ label, keys, onChange }: { label: string; keys: string[]; onChange(): void }) {
  const style = styleOf(label)
  const change = (part: Partial<typeof style>) => {
    setStyle(label, { ...style, ...part })
    onChange()
  }
  return (
    <fieldset className="label-form">
      <legend>{label || 'no label'}</legend>
      <label>
        Colour <input type="color" value={style.colour} onChange={(event) => change({ colour: event.target.value })} />
      </label>
      <label>
        Size{' '}
        <input
          type="range"
          min={0}
          max={SIZES.length - 1}
          value={SIZES.indexOf(style.size)}
          onChange={(event) => change({ size: SIZES[Number(event.target.value)] ?? 6 })}
        />
      </label>
      <label>
        Caption{' '}
        <select value={style.caption ?? ' '} onChange={(event) => setCaption(event.target.value)}>
          <option value=" ">found</option>
          <option value="">none</option>
          {keys.map((key) => (
            <option key={key}>{key}</option>
          ))}
        </select>
      </label>
    </fieldset>
  )
  function setCaption(chosen: string) {
    const { caption: _, ...rest } = style
    setStyle(label, chosen === ' ' ? rest : { ...rest, caption: chosen })
    onChange()
  }
}
