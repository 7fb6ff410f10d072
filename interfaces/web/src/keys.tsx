/** All keys of the page. */
import { useEffect, useRef } from 'react'

const KEYS: [string, string][] = [
  ['Ctrl Enter', 'run the selection, or the statement at the cursor'],
  ['Ctrl Shift Enter', 'run all statements, one after the other'],
  ['Ctrl Space', 'offer words and names'],
  ['Alt ↑, Alt ↓', 'older and younger statements of the history'],
  ['F8', 'the next error in the text'],
  ['Ctrl F', 'find in the text'],
  ['Ctrl /', 'make a line a comment'],
  ['Escape, then Tab', 'leave the editor'],
  ['Alt 1 … Alt 5', 'change the view'],
  ['Arrows, Page, Home, End', 'move in a table; Enter shows the value in full'],
  ['+, -, 0, arrows', 'in the graph: nearer, farther, all of it, move'],
  ['?', 'this list'],
]

export function Keys({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal()
  }, [])
  return (
    <dialog ref={dialog} className="keys" aria-label="Keys" onClose={onClose}>
      <h2>Keys</h2>
      <dl>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" className="primary" autoFocus onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  )
}
