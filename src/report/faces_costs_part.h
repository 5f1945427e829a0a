// The part of the page about faces that shows the speed and the memory of each chunk of photos. Inside report/ only.
#pragma once

#include <string>

#include "report/faces_page.h"

namespace evener::report {

/// A heading with plots; "" if nothing was measured.
std::string faces_costs_part(const FacesPage& page);

}  // namespace evener::report
