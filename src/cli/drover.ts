#!/usr/bin/env node
/** The entry of the command line: this process's streams, and its exit code. */
import { processSurroundings } from './frame/surroundings.ts'
import { runCommandLine } from './program.ts'

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await runCommandLine(process.argv.slice(2), processSurroundings())
