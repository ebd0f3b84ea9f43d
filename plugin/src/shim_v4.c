/* ABI version 4. */
#include "core.h"

#define V 4
#include "shim_template.h"
