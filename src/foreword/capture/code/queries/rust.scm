[(function_item) (macro_definition)] @function
[(struct_item) (enum_item) (union_item) (trait_item) (impl_item)] @class
(mod_item body: (declaration_list)) @scope
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @reference))
(call_expression function: (scoped_identifier name: (identifier) @reference))
(generic_function function: (identifier) @reference)
(generic_function function: (field_expression field: (field_identifier) @reference))
(generic_function function: (scoped_identifier name: (identifier) @reference))
(macro_invocation macro: (identifier) @reference)
(struct_expression name: (type_identifier) @reference)
(impl_item trait: [(type_identifier) @reference (generic_type type: (type_identifier) @reference)])
(impl_item trait: (scoped_type_identifier name: (type_identifier) @reference))
(use_declaration) @import
(use_declaration argument: [(identifier) @reference (scoped_identifier name: (identifier) @reference)])
(use_list [(identifier) @reference (scoped_identifier name: (identifier) @reference)])
(scoped_use_list path: [(identifier) @reference (scoped_identifier name: (identifier) @reference)])
(use_as_clause path: [(identifier) @reference (scoped_identifier name: (identifier) @reference)])
