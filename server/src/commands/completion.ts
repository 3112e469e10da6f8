import { defineAction, isGroup, type Command, type CommandGroup } from './command.ts'
import type { Option } from './option.ts'

/** What can follow some words: `user list` is followed by its options. */
type Place = {
  /** The words after `sixwire`. */
  path: string
  /** Actions or options, each with what it does. */
  choices: readonly (readonly [word: string, description: string])[]
  /** The options that take a value, each with its placeholder. */
  values: Readonly<Record<string, string>>
  takesFiles: boolean
}

function placesOf(commands: Readonly<Record<string, Command>>): Place[] {
  const summaries = (of: Readonly<Record<string, { summary: string }>>) =>
    Object.entries(of).map(([name, { summary }]) => [name, summary] as const)
  const help = ['help', 'Tell of a command'] as const
  return [
    { path: '', choices: [...summaries(commands), help], values: {}, takesFiles: false },
    { path: 'help', choices: summaries(commands), values: {}, takesFiles: false },
    ...Object.entries(commands).flatMap(([name, command]) =>
      isGroup(command)
        ? [
            { path: name, choices: summaries(command.actions), values: {}, takesFiles: false },
            ...Object.entries(command.actions).map(([action, one]) => placeOf(`${name} ${action}`, one)),
          ]
        : [placeOf(name, command)],
    ),
  ]
}

function placeOf(
  path: string,
  { words = [], options = {} }: { words?: readonly string[]; options?: Readonly<Record<string, Option>> },
): Place {
  const entries = Object.entries(options)
  return {
    path,
    choices: entries.map(([name, { description }]) => [`--${name}`, description] as const),
    values: Object.fromEntries(
      entries.flatMap(([name, { value }]) => (value === undefined ? [] : [[`--${name}`, value]])),
    ),
    takesFiles: words.some(isFile),
  }
}

const isFile = (placeholder: string): boolean => /FILE|FOLDER|DIR/.test(placeholder)

/** In single quotes, as all three shells read them. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const wordsOf = ({ choices }: Place): string => choices.map(([word]) => word).join(' ')

/** All options with a value, of whatever command: the name of one means the same everywhere. */
const valuesOf = (places: readonly Place[], isWanted: (placeholder: string) => boolean): string[] => [
  ...new Set(
    places.flatMap(({ values }) =>
      Object.entries(values).flatMap(([option, placeholder]) => (isWanted(placeholder) ? [option] : [])),
    ),
  ),
]

/** The branches of a `case` in which a shell looks up the words so far. */
const branches = (places: readonly Place[], branch: (place: Place) => string): string =>
  places.map((place) => `    ${quoted(place.path)}) ${branch(place)} ;;`).join('\n')

// The first two words name the place; later ones are arguments. Names of files are read line by line: a list in
// parentheses would expand patterns in them, and bash 3.2 of macOS has no `mapfile`.
const bash = (places: readonly Place[]): string => `# sixwire completion bash
_sixwire_files() {
  local file
  while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$1")
}
_sixwire() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path='' words='' files='' IFS=$' \\t\\n' i
  case "$previous" in
    ${valuesOf(places, isFile).join('|')}) COMPREPLY=(); _sixwire_files "$current"; return ;;
    ${valuesOf(places, (one) => !isFile(one)).join('|')}) COMPREPLY=(); return ;;
  esac
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
    case "\${COMP_WORDS[i]}" in -*) break ;; esac
    path="\${path:+$path }\${COMP_WORDS[i]}"
  done
  case "$path" in
${branches(
  places.filter(({ path }) => path.includes(' ')),
  (place) => `words=${quoted(wordsOf(place))}${place.takesFiles ? ' files=1' : ''}`,
)}
    *) case "\${path%% *}" in
${branches(
  places.filter(({ path }) => !path.includes(' ')),
  (place) => `words=${quoted(wordsOf(place))}${place.takesFiles ? ' files=1' : ''}`,
)}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ -n $files && $current != -* ]]; then
    _sixwire_files "$current"
  fi
}
complete -o filenames -F _sixwire sixwire`

const zsh = (places: readonly Place[]): string => `#compdef sixwire
# sixwire completion zsh
_sixwire() {
  local path_='' i
  local -a choices
  case "$words[CURRENT-1]" in
    ${valuesOf(places, isFile).join('|')}) _files; return ;;
    ${valuesOf(places, (one) => !isFile(one)).join('|')}) return ;;
  esac
  for ((i = 2; i < CURRENT && i < 4; i++)); do
    [[ $words[i] == -* ]] && break
    path_="\${path_:+$path_ }$words[i]"
  done
  case "$path_" in
${branches(
  places.filter(({ path }) => path.includes(' ')),
  zshBranch,
)}
    *) case "\${path_%% *}" in
${branches(
  places.filter(({ path }) => !path.includes(' ')),
  zshBranch,
)}
    esac ;;
  esac
}
compdef _sixwire sixwire`

function zshBranch({ choices, takesFiles }: Place): string {
  const described = choices.map(([word, text]) => quoted(`${word}:${text.replaceAll(':', '\\:')}`)).join(' ')
  return `choices=(${described}); _describe 'sixwire' choices${takesFiles ? '; _files' : ''}`
}

const fish = (places: readonly Place[]): string => {
  const lines = places.flatMap(({ path, choices, values, takesFiles }) => {
    const condition = `-n ${quoted(`__sixwire_at ${path === '' ? '""' : quoted(path).replaceAll("'", '"')}`)}`
    return [
      ...choices.map(([word, text]) => {
        const described = `-d ${quoted(text)}`
        if (!word.startsWith('--')) return `complete -c sixwire ${condition} -a ${word} ${described}`
        const value = values[word]
        const takes = value === undefined ? '' : isFile(value) ? ' -r -F' : ' -x'
        return `complete -c sixwire ${condition} -l ${word.slice(2)}${takes} ${described}`
      }),
      ...(takesFiles ? [`complete -c sixwire ${condition} -F`] : []),
    ]
  })
  return `# sixwire completion fish
# Whether the words so far begin with these, and nothing longer that is known.
function __sixwire_at
  set -l words (commandline -opc)[2..]
  set -l path
  for word in $words[1..2]
    string match -q -- '-*' $word; and break
    set -a path $word
  end
  set -l known ${places
    .filter(({ path }) => path !== '')
    .map(({ path }) => quoted(path))
    .join(' ')}
  if not contains -- "$path" $known
    set path $path[1]
  end
  test "$path" = "$argv[1]"
end
complete -c sixwire -f
${lines.join('\n')}`
}

const SHELLS = {
  bash: { script: bash, use: 'eval "$(sixwire completion bash)" in ~/.bashrc' },
  zsh: { script: zsh, use: 'eval "$(sixwire completion zsh)" in ~/.zshrc, after compinit' },
  fish: { script: fish, use: 'sixwire completion fish > ~/.config/fish/completions/sixwire.fish' },
}

/** @param loadCommands all commands, this one too */
export const createCompletion = (
  loadCommands: () => Promise<Readonly<Record<string, Command>>>,
): CommandGroup => ({
  summary: 'Print a script that completes commands and options in a shell',
  actions: Object.fromEntries(
    Object.entries(SHELLS).map(([shell, { script, use }]) => [
      shell,
      defineAction({
        summary: `Print the script for ${shell}`,
        details: `To use it: ${use}`,
        ignoresEnvironmentFile: true,
        async run() {
          console.log(script(placesOf(await loadCommands())))
          return 0
        },
      }),
    ]),
  ),
})
