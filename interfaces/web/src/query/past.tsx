/** What was asked before, and what was saved under a name. */
import { useState } from 'react'
import { asked, forgetAll, save, saved, unsave } from './history'

interface Properties {
  text: string
  onTake(text: string, runs: boolean): void
  onClose(): void
}

export function Past({ text, onTake, onClose }: Properties) {
  const [name, setName] = useState('')
  const [filter, setFilter] = useState('')
  const [version, setVersion] = useState(0)
  const [refused, setRefused] = useState(false)
  const holds = (one: string) => one.toLowerCase().includes(filter.toLowerCase())
  return (
    <section className="past" aria-label="History and saved statements" key={version}>
      <header>
        <input type="search" aria-label="Find" placeholder="Find" value={filter} onChange={(event) => setFilter(event.target.value)} />
        <form
          onSubmit={(event) => {
            event.preventDefault()
            const isSaved = name.trim() !== '' && text.trim() !== '' && save(name.trim(), text)
            setRefused(!isSaved)
            if (isSaved) {
              setName('')
              setVersion(version + 1)
            }
          }}
        >
          <input aria-label="Name to save the text under" placeholder="Save the text as …" value={name} onChange={(event) => setName(event.target.value)} />
          <button type="submit" disabled={name.trim() === '' || text.trim() === ''}>
            Save
          </button>
        </form>
        <button type="button" className="quiet" aria-label="Close the history" onClick={onClose}>
          ✕
        </button>
      </header>
      {refused && <p className="bad">A text with a password, or of more than 20,000 characters, is not kept.</p>}
      <div className="past-lists">
        <List
          title="Saved"
          empty="Nothing is saved yet."
          items={saved()
            .filter((one) => holds(one.name) || holds(one.text))
            .map((one) => ({ key: one.name, name: one.name, text: one.text }))}
          onTake={onTake}
          onRemove={(key) => {
            unsave(key)
            setVersion(version + 1)
          }}
        />
        <List
          title="Asked"
          empty="Nothing was asked yet."
          items={asked()
            .filter(holds)
            .map((one) => ({ key: one, text: one }))}
          onTake={onTake}
        />
      </div>
      {asked().length > 0 && (
        <button
          type="button"
          className="quiet"
          onClick={() => {
            forgetAll()
            setVersion(version + 1)
          }}
        >
          Forget what was asked
        </button>
      )}
    </section>
  )
}

interface Item {
  key: string
  name?: string
  text: string
}

interface ListProperties {
  title: string
  empty: string
  items: Item[]
  onTake(text: string, runs: boolean): void
  onRemove?(key: string): void
}

function List({ title, empty, items, onTake, onRemove }: ListProperties) {
  return (
    <div>
      <h2>{title}</h2>
      {items.length === 0 && <p className="soft">{empty}</p>}
      <ul>
        {items.map((item) => (
          <li key={item.key}>
            <button type="button" className="take" title={item.text} onClick={() => onTake(item.text, false)}>
              {item.name && <strong>{item.name}</strong>} <code>{item.text.slice(0, 200)}</code>
            </button>
            <button type="button" className="quiet" aria-label={`Run ${item.name ?? item.text.slice(0, 40)}`} onClick={() => onTake(item.text, true)}>
              ▶
            </button>
            {onRemove && (
              <button type="button" className="quiet" aria-label={`Remove ${item.name}`} onClick={() => onRemove(item.key)}>
                ✕
              </button>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}
