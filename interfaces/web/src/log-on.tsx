/** Who asks: a name and a password become a token that this page alone has, until it is closed or reloaded. */
import { useState } from 'react'
import { logOn, type ServerError } from './api/client'
import { asServerError } from './query/answer'
import { ErrorBox } from './results/error-box'

export function LogOn({ onDone }: { onDone(): void }) {
  const [error, setError] = useState<ServerError>()
  const [isBusy, setIsBusy] = useState(false)
  const enter = async (form: HTMLFormElement) => {
    const fields = new FormData(form)
    setIsBusy(true)
    setError(undefined)
    try {
      await logOn(String(fields.get('name')), String(fields.get('password')))
      onDone()
    } catch (failure) {
      setError(asServerError(failure))
    }
    setIsBusy(false)
  }
  return (
    <main className="log-on">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void enter(event.currentTarget)
        }}
      >
        <h1>Tanglewood</h1>
        <label>
          Name
          <input name="name" autoComplete="username" autoFocus required />
        </label>
        <label>
          Password
          <input name="password" type="password" autoComplete="current-password" required />
        </label>
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? 'Logging on …' : 'Log on'}
        </button>
        {error && <ErrorBox error={error} />}
        <p className="soft">The token stays in the memory of this page; a reload asks again.</p>
      </form>
    </main>
  )
}
