(function_definition) @function
(command name: (command_name (word) @reference))
