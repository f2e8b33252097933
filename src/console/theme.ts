/**
 * The theme of the component library. Its colours stand in `style/tokens.css` as variables, because the content security policy
 * allows no style that a script writes into the page.
 */
import { createTheme, type MantineColorsTuple } from '@mantine/core'

const accent: MantineColorsTuple = [
  '#e6f5f6',
  '#cfe8ea',
  '#9fd1d6',
  '#6cb9c1',
  '#43a5ae',
  '#28939e',
  '#12808b',
  '#0a6b76',
  '#0a5c66',
  '#064a52',
]

export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 7, dark: 5 },
  colors: { accent },
  cursorType: 'pointer',
  focusRing: 'auto',
  respectReducedMotion: true,
  components: {
    // The page is kept from scrolling by the dialog element's own rules, without a style written into the page.
    Modal: {
      defaultProps: {
        lockScroll: false,
        centered: true,
        overlayProps: { backgroundOpacity: 0.5 },
        classNames: { title: 'dialog-title' },
      },
    },
    Drawer: { defaultProps: { lockScroll: false } },
    Select: { defaultProps: { size: 'sm', comboboxProps: { shadow: 'md' } } },
    Button: { defaultProps: { size: 'sm' } },
  },
})
