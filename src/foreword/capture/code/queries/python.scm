(function_definition) @function
(class_definition) @class
(class_definition superclasses: (argument_list (identifier) @reference))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @reference)))
(decorator [(identifier) @reference (attribute attribute: (identifier) @reference)])
(call function: [(identifier) @reference (attribute attribute: (identifier) @reference)])
[(import_statement) (import_from_statement) (future_import_statement)] @import
(import_statement name: [(dotted_name) @reference (aliased_import name: (dotted_name) @reference)])
(import_from_statement module_name: (dotted_name) @reference)
(import_from_statement name: [(dotted_name) @reference (aliased_import name: (dotted_name) @reference)])
