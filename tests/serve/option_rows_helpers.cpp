// Rows of a server.
#include "app/option_rows_helpers.h"

#include "detect/option_rows_helpers.h"
#include "infer/option_rows_helpers.h"
#include "serve/serve.h"

namespace evener::test {
namespace {

using nlohmann::json;

std::vector<OptionRow> serving() {
  const char* serve = "serve";
  return {{serve, {"--host", "::1"}, "/http/host", "::1"},
          {serve, {"--port", "9000"}, "/http/port", 9000},
          {serve, {"--name", "mine"}, "test:ServeCommand.TellsAnAddressThatCanBeAsked"},
          {serve, {"--max-wait", "25"}, "/queue/max_wait_s", 0.025},
          {serve, {"--queue", "77"}, "/queue/capacity", 77},
          {serve, {"--input-type", "fp32"}, "/takes_bytes_of_images", false},
          {serve, {"--input-type", "uint8"}, "/takes_bytes_of_vectors", true},
          {serve, {"--max-request", "3"}, "/http/body_bytes", 3'000'000},
          {serve, {"--request-timeout", "2.5"}, "/http/transfer_s", 2.5},
          {serve, {"--connections", "9"}, "/http/connections", 9},
          {serve, {"--random", "true"}, "test:ServeCommand.RefusesWhatItCantServe"},
          {serve, {"--assume-power", "cpu=50W"}, "test:ServeCommand.TellsTheEnergyOfASample"},
          {serve, {"--idle", "0.2"}, "test:ServeCommand.TellsTheEnergyOfASample"},
          {serve, {"--meter", "run:cat f#power=W"}, "/energy/meters", {"run:cat f#power=W"}},
          {serve, {"--quiet", "true"}, "test:ServeCommand.QuietSaysItsAddressAlone"}};
}

json handed_to_server(const Words& given) {
  serving::ServeFlags flags;
  give_all(flags.options(), given);
  const serving::BatchQueueOptions queue = flags.server.queue_options(3, 4);
  const serving::HttpOptions http = flags.server.http();
  inference::InferOptions infer = flags.infer_options(flags.placement.plan());
  infer.reading_threads = threads_of(flags.placement);
  return {{"request", request_json(flags.model.request(false, 1))},
          {"seen", seen_json(flags.model)},
          {"infer", infer_json(infer)},
          {"boxes", boxes_json(flags.boxes)},
          {"queue", {{"capacity", queue.capacity}, {"max_wait_s", queue.max_wait_s}}},
          {"lanes_and_batch", {queue.lanes, queue.batch}},
          {"takes_bytes_of_images", flags.server.takes_bytes(true)},
          {"takes_bytes_of_vectors", flags.server.takes_bytes(false)},
          {"energy", {{"meters", flags.energy.options(flags.placement.plan()).meters}}},
          {"http",
           {{"host", http.host},
            {"port", http.port},
            {"connections", http.connections},
            {"body_bytes", http.body_bytes},
            {"transfer_s", http.transfer_s}}}};
}

const bool kServeIsAdded = add_to_option_table({{"serve", {"MODEL", "resnet20"}, {}, handed_to_server}}, {serving()});

}  // namespace
}  // namespace evener::test
