/** The console begins here: its styles, its theme, its cache of answers, and the first view. */
import './style/base.css'
import '@mantine/core/styles/default-css-variables.layer.css'
import '@mantine/core/styles/baseline.layer.css'
import '@mantine/core/styles/global.layer.css'
import './style/components.css'
import './style/tokens.css'
import './style/text.css'
import './style/frame.css'
import './style/states.css'
import './style/facts.css'
import { MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { Refused } from './request.ts'
import { theme } from './theme.ts'

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      refetchOnWindowFocus: true,
      // A refusal is an answer; only what did not arrive is asked again.
      retry: (failures, error) => !(error instanceof Refused) && failures < 2,
      retryDelay: 1_000,
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

const place = document.getElementById('console')
if (place) {
  createRoot(place).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        defaultColorScheme="auto"
        withCssVariables={false}
        withStaticClasses={false}
        withGlobalClasses={false}
      >
        <QueryClientProvider client={queries}>
          <App />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  )
}
