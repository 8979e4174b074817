/** Reads commands back, the plain way. @param {Buffer} bytes @returns {string[][]} as latin1 */
export function commandsIn (bytes) {
  const commands = []
  let at = 0
  const line = () => {
    const end = bytes.indexOf('\r\n', at)
    const text = bytes.toString('latin1', at, end)
    at = end + 2
    return text
  }
  while (at < bytes.length) {
    const words = Array.from({ length: Number(/^\*(\d+)$/.exec(line())?.[1]) }, () => {
      const length = Number(/^\$(\d+)$/.exec(line())?.[1])
      const word = bytes.toString('latin1', at, at + length)
      at += length
      if (line() !== '') throw new Error(`a word does not end at ${at}`)
      return word
    })
    if (words.length === 0) throw new Error(`no command at ${at}`)
    commands.push(words)
  }
  return commands
}
