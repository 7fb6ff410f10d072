/** What the page remembers in this browser: the history, saved statements, looks. Never a token, never a text with a password. */
import { useCallback, useState } from 'react'

const PREFIX = 'tanglewood.'

export function load<T>(key: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(PREFIX + key)
    return text === null ? otherwise : (JSON.parse(text) as T)
  } catch {
    return otherwise
  }
}

export function store(key: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value))
  } catch {
    // A browser that is full or forbids it remembers nothing; the page works all the same.
  }
}

/** State that outlives a reload. */
export function useStored<T>(key: string, otherwise: T): [T, (next: T) => void] {
  const [value, setValue] = useState<T>(() => load(key, otherwise))
  const set = useCallback(
    (next: T) => {
      store(key, next)
      setValue(next)
    },
    [key],
  )
  return [value, set]
}
