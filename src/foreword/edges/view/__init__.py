"""The page that `foreword view` opens: what is remembered, what was injected, and why.

The HTML is made here, on the server, by one function for each part of the page; `static/page.js` only fetches
it.
"""
