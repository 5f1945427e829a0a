// What photos cost, on the page about faces: speed and memory chunk by chunk. Inside report/ only.
#pragma once

#include <string>

#include "report/faces_page.h"

namespace evener::report {

/// A heading with plots; "" where nothing was measured.
std::string faces_costs_part(const FacesPage& page);

}  // namespace evener::report
