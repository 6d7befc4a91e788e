(function_definition) @function
(struct_specifier body: (field_declaration_list)) @class
(union_specifier body: (field_declaration_list)) @class
(enum_specifier body: (enumerator_list)) @class
(call_expression function: (identifier) @reference)
(call_expression function: (field_expression field: (field_identifier) @reference))
(preproc_include) @import
(preproc_include path: [(string_literal (string_content) @reference) (system_lib_string) @reference])
