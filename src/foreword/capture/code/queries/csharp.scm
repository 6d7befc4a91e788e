[(method_declaration) (constructor_declaration) (destructor_declaration)] @function
(local_function_statement) @function
[(class_declaration) (interface_declaration) (struct_declaration)] @class
[(record_declaration) (enum_declaration)] @class
(namespace_declaration) @scope
(invocation_expression function: [(identifier) @reference (generic_name (identifier) @reference)])
(invocation_expression function: (member_access_expression name: (identifier) @reference))
(invocation_expression function: (member_access_expression name: (generic_name (identifier) @reference)))
(object_creation_expression type: [(identifier) @reference (generic_name (identifier) @reference)])
(attribute name: (identifier) @reference)
(base_list [(identifier) @reference (generic_name (identifier) @reference)])
[(using_directive) (file_scoped_namespace_declaration)] @import
(file_scoped_namespace_declaration) @rest
(using_directive [(qualified_name) (identifier)] @reference)
