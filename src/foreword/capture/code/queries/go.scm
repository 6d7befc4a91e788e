[(function_declaration) (method_declaration)] @function
[(type_spec) (type_alias)] @class
(call_expression function: (identifier) @reference)
(call_expression function: (selector_expression field: (field_identifier) @reference))
(composite_literal type: [(type_identifier) @reference (qualified_type name: (type_identifier) @reference)])
[(import_declaration) (package_clause)] @import
(import_spec path: (interpreted_string_literal (interpreted_string_literal_content) @reference))
