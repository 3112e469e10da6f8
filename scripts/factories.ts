// Fails if a factory (an exported function `create…`, `open…` or `…Endpoints` that answers at once) has another shape than
// createX(context, nouns, options), or if endpoints are made elsewhere than in the `routes.ts` of their wire.

import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import ts from 'typescript-6'

const SOURCES = '{sandbox,server}/src/**/*.ts'
const TESTS = /\.(test|long|fixture)\.ts$|\/(testing|e2e|generated)\//
const FACTORY = /^(?:create|open)[A-Z]|Endpoints?$/
const ENDPOINTS = /-endpoints?\.ts$/
/** The names of parameters that are taken whole. The others are objects, taken apart where they are declared. */
const WHOLE = new Set(['context', 'nouns', 'options'])
/** What the frame hands out stands in the first parameter, so that every caller can pass its context on. */
const OF_THE_FRAME = new Set(['db', 'clock', 'jobs', 'log', 'audit', 'processes', 'metrics', 'rateLimiter'])
/** So there are five shapes: (), (x), ({}), ({}, {}) and ({}, {}, {}). */
const PARAMETERS_MAX = 3

type Factory = { file: string; name: string; parameters: readonly ts.ParameterDeclaration[] }

const isExported = (node: ts.HasModifiers): boolean =>
  ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false

/** Whether a function answers later: what it does is then an action, such as the insert of a document. */
const isAsync = (node: ts.FunctionDeclaration | ts.ArrowFunction): boolean =>
  (ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) ?? false) ||
  (node.type?.getText().startsWith('Promise<') ?? false)

/** The exported functions of a file by their names. */
function functionsOf(source: ts.SourceFile): [string, ts.FunctionDeclaration | ts.ArrowFunction][] {
  return source.statements.flatMap((node): [string, ts.FunctionDeclaration | ts.ArrowFunction][] => {
    if (ts.isFunctionDeclaration(node)) return isExported(node) && node.name ? [[node.name.text, node]] : []
    if (!ts.isVariableStatement(node) || !isExported(node)) return []
    return node.declarationList.declarations.flatMap(({ name, initializer }) =>
      ts.isIdentifier(name) && initializer && ts.isArrowFunction(initializer)
        ? [[name.text, initializer]]
        : [],
    )
  })
}

const parsed = (file: string, text: string): ts.SourceFile =>
  ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)

const factoriesOf = (source: ts.SourceFile): Factory[] =>
  functionsOf(source)
    .filter(([name, node]) => FACTORY.test(name) && !isAsync(node))
    .map(([name, { parameters }]) => ({ file: source.fileName, name, parameters }))

/** How a parameter is taken: `{}` for an object whose members have names, `x` for anything else. */
const kindOf = ({ name, type }: ts.ParameterDeclaration): '{}' | 'x' =>
  !ts.isIdentifier(name) || WHOLE.has(name.text) || (type && ts.isTypeLiteralNode(type)) ? '{}' : 'x'

/** The shape of a factory: `({}, {})` for one that takes its context and other nouns. */
const shapeOf = ({ parameters }: Factory): string => `(${parameters.map(kindOf).join(', ')})`

/** What the frame hands out and a factory does not take first. */
const displaced = ({ parameters }: Factory): string[] =>
  parameters
    .slice(1)
    .flatMap(({ name }) => (ts.isObjectBindingPattern(name) ? name.elements : []))
    .map(({ name, propertyName }) => (propertyName ?? name).getText())
    .filter((name) => OF_THE_FRAME.has(name))

/** What is wrong with a factory, a line each. */
function faultsOf(factory: Factory): string[] {
  const { file, name, parameters } = factory
  const isWrong =
    parameters.length > PARAMETERS_MAX || (parameters.length > 1 && shapeOf(factory).includes('x'))
  return [
    ...(isWrong
      ? [
          `${file}: ${name}${shapeOf(factory)}: take objects, and no more than (context, nouns, options): what the frame hands out, other nouns, plain values`,
        ]
      : []),
    ...displaced(factory).map(
      (part) => `${file}: ${name} takes ${part} later than first: it belongs to the context`,
    ),
  ]
}

/** The values that a file imports of files with endpoints, though it is no `routes.ts`. */
function wiredElsewhere(source: ts.SourceFile): string[] {
  if (basename(source.fileName) === 'routes.ts') return []
  return source.statements.filter(ts.isImportDeclaration).flatMap(({ importClause, moduleSpecifier }) => {
    const from = (moduleSpecifier as ts.StringLiteral).text
    const names = importClause?.namedBindings
    const isOfTypes = importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
    if (!ENDPOINTS.test(from) || !names || !ts.isNamedImports(names)) return []
    return names.elements
      .filter(({ name, isTypeOnly }) => !isTypeOnly && !isOfTypes && /Endpoints?$/.test(name.text))
      .map(({ name }) => `${source.fileName}: makes ${name.text}: only the routes.ts of a wire does`)
  })
}

/** What is wrong in the files of a directory, a line each. */
export function factoryFaults(directory: string, pattern = SOURCES): string[] {
  const sources = globSync(pattern, { cwd: directory })
    .filter((file) => !TESTS.test(file))
    .toSorted()
    .map((file) => parsed(file, readFileSync(join(directory, file), 'utf8')))
  return [...sources.flatMap(factoriesOf).flatMap(faultsOf), ...sources.flatMap(wiredElsewhere)]
}

if (import.meta.main)
  for (const fault of factoryFaults(fileURLToPath(new URL('..', import.meta.url)))) {
    console.error(fault)
    process.exitCode = 1
  }
