// One HTTP(S) request by libcurl.
#pragma once

#include "base/web.h"

namespace evener::data::fetch_module {

HttpResult http_get(const HttpRequest& request);

}  // namespace evener::data::fetch_module
