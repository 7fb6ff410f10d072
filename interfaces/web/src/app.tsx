/** The page: its views, its looks, its keys, and who is logged on. */
import { useCallback, useEffect, useState } from 'react'
import { ActivityView } from './activity/activity-view'
import { currentUser, type Discovery, discover, logOff, whenLoggedOff } from './api/client'
import { useStored } from './common/stored'
import { Keys } from './keys'
import { LiveView } from './live/live-view'
import { LoadView } from './load/load-view'
import { LogOn } from './log-on'
import { QueryView } from './query/query-view'
import { forgetNames } from './schema/names'
import { SchemaView } from './schema/schema-view'

type View = 'query' | 'schema' | 'live' | 'activity' | 'load'
type Theme = 'system' | 'light' | 'dark'

const VIEWS: { view: View; name: string }[] = [
  { view: 'query', name: 'Query' },
  { view: 'schema', name: 'Schema' },
  { view: 'live', name: 'Live' },
  { view: 'activity', name: 'Activity' },
  { view: 'load', name: 'Import' },
]

export function App() {
  const [server, setServer] = useState<Discovery>()
  const [isUnreachable, setIsUnreachable] = useState(false)
  const [isIn, setIsIn] = useState(false)
  const [view, setView] = useState<View>('query')
  const [showsKeys, setShowsKeys] = useState(false)
  const [given, setGiven] = useState<{ text: string; runs: boolean; number: number }>()
  const [dropped, setDropped] = useState<File>()
  const { isDark, theme, setTheme } = useTheme()

  const find = useCallback(async () => {
    setIsUnreachable(false)
    try {
      const found = await discover()
      setServer(found)
      setIsIn(!found.auth_enabled || currentUser() !== undefined)
    } catch {
      setIsUnreachable(true)
    }
  }, [])
  useEffect(() => {
    whenLoggedOff(() => {
      forgetNames()
      setIsIn(false)
    })
    void find()
  }, [find])
  useKeys((at) => VIEWS[at] && setView(VIEWS[at].view), () => setShowsKeys(true))

  if (isUnreachable) {
    return (
      <main className="log-on">
        <p>The server does not answer.</p>
        <button type="button" className="primary" onClick={() => void find()}>
          Try again
        </button>
      </main>
    )
  }
  if (!server) return <main className="log-on" aria-busy="true" />
  if (!isIn) return <LogOn onDone={() => setIsIn(true)} />
  const hand = (text: string, runs: boolean) => {
    setGiven({ text, runs, number: (given?.number ?? 0) + 1 })
    setView('query')
  }
  return (
    <div
      className="page"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        const file = event.dataTransfer.files[0]
        if (!file) return
        event.preventDefault()
        setDropped(file)
        setView('load')
      }}
    >
      <header className="bar">
        <img src="/page/icon.svg" alt="" width="24" height="24" />
        <h1>Tanglewood</h1>
        <nav aria-label="Views">
          {VIEWS.map(({ view: one, name }, at) => (
            <button key={one} type="button" aria-current={view === one ? 'page' : undefined} title={`${name} (Alt+${at + 1})`} onClick={() => setView(one)}>
              {name}
            </button>
          ))}
        </nav>
        <span className="grow" />
        <select aria-label="Theme" value={theme} onChange={(event) => setTheme(event.target.value as Theme)}>
          <option value="system">System</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
        <button type="button" className="quiet" aria-label="Keys" title="Keys (?)" onClick={() => setShowsKeys(true)}>
          ?
        </button>
        {server.auth_enabled && (
          <button type="button" title={`Log off ${currentUser()}`} onClick={() => void logOff()}>
            Log off
          </button>
        )}
      </header>
      <main>
        <div className="view" hidden={view !== 'query'}>
          <QueryView given={given} isShown={view === 'query'} isDark={isDark} />
        </div>
        <div className="view" hidden={view !== 'schema'}>
          <SchemaView isShown={view === 'schema'} isDark={isDark} onAsk={(text) => hand(text, true)} />
        </div>
        <div className="view" hidden={view !== 'live'}>
          <LiveView isShown={view === 'live'} isDark={isDark} />
        </div>
        <div className="view" hidden={view !== 'activity'}>
          <ActivityView isShown={view === 'activity'} />
        </div>
        <div className="view" hidden={view !== 'load'}>
          <LoadView file={dropped} />
        </div>
      </main>
      {showsKeys && <Keys onClose={() => setShowsKeys(false)} />}
    </div>
  )
}

function useTheme(): { isDark: boolean; theme: Theme; setTheme(theme: Theme): void } {
  const [theme, setTheme] = useStored<Theme>('theme', 'system')
  const [isSystemDark, setIsSystemDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches)
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)')
    const change = () => setIsSystemDark(query.matches)
    query.addEventListener('change', change)
    return () => query.removeEventListener('change', change)
  }, [])
  const isDark = theme === 'dark' || (theme === 'system' && isSystemDark)
  useEffect(() => {
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
  }, [isDark])
  return { isDark, theme, setTheme }
}

/** Alt and a digit changes the view; a question mark outside of fields shows the keys. */
function useKeys(show: (at: number) => void, help: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const digit = /^Digit([1-9])$/.exec(event.code)
      if (event.altKey && !event.ctrlKey && !event.metaKey && digit) {
        event.preventDefault()
        show(Number(digit[1]) - 1)
      }
      const target = event.composedPath()[0]
      const isField = target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
      if (event.key === '?' && !isField) help()
    }
    window.addEventListener('keydown', press)
    return () => window.removeEventListener('keydown', press)
  })
}
