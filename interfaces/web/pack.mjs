// Compresses what the build made into `dist`, one file each, as the server embeds them.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'

const built = '../../target/web'
rmSync('dist', { recursive: true, force: true })
mkdirSync('dist')
let sum = 0
for (const entry of readdirSync(built, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue
  const packed = gzipSync(readFileSync(join(entry.parentPath, entry.name)), { level: 9 })
  writeFileSync(join('dist', `${basename(entry.name)}.gz`), packed)
  sum += packed.length
}
console.log(`dist: ${sum} bytes`)
