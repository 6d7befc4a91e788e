"""The page that `foreword view` opens: what is remembered, what was said to the agent, and why.

HTML is made here, on the server, one function a part; `static/page.js` fetches it, and nothing else.
"""
