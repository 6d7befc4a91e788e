[(method) (singleton_method)] @function
[(class) (module)] @class
(call method: (identifier) @reference)
(call receiver: (constant) @reference)
(superclass [(constant) @reference (scope_resolution name: (constant) @reference)])
