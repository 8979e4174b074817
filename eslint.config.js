import neostandard from 'neostandard'

export default [
  ...neostandard({ ignores: ['node_modules/', '.freshet/', '.tap/'] }),
  { rules: { 'no-console': 'error', 'max-lines': ['warn', { max: 250, skipComments: true, skipBlankLines: true }] } },
  { files: ['readers/page/**'], languageOptions: { globals: { document: 'readonly', fetch: 'readonly', setInterval: 'readonly', EventSource: 'readonly' } } }
]
