/**
 * @template One
 * @param {One[]} all @param {() => number} [random]
 * @returns {() => One} by Zipf's law: the nth comes 1/n as often as the first
 */
export function zipfPicker (all, random = Math.random) {
  let sum = 0
  const upTo = Float64Array.from(all, (_, i) => { sum += 1 / (i + 1); return sum })
  return () => {
    const wanted = random() * sum
    let [low, high] = [0, all.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (upTo[middle] < wanted) low = middle + 1
      else high = middle
    }
    return all[low]
  }
}
