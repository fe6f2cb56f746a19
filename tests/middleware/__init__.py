"""Services with a middleware: what they try, until when, and what their answers say."""
