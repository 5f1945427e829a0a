#include "parallel/host_link.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/names.h"

namespace evener::parallel {
namespace {

using nlohmann::json;

std::string to_text(const std::vector<Fact>& facts) {
  json all = json::array();
  for (const Fact& fact : facts) all.push_back({fact.what, fact.value, fact.advice});
  return json{{"name", host_name()}, {"facts", all}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<Fact> facts_of(const json& hello) {
  std::vector<Fact> facts;
  for (const auto& fact : hello.at("facts")) facts.push_back({fact.at(0), fact.at(1), fact.at(2)});
  return facts;
}

}  // namespace

std::string difference_of(const std::vector<std::string>& names, const std::vector<std::vector<Fact>>& facts) {
  for (std::size_t host = 1; host < facts.size(); ++host) {
    for (std::size_t i = 0; i < facts[0].size(); ++i) {
      const Fact& first = facts[0][i];
      const bool known = i < facts[host].size() && facts[host][i].what == first.what;
      if (known && facts[host][i].value == first.value) continue;
      return "the hosts are not at the same work: the " + first.what + " is " + printable(first.value) + " on " +
             names[0] + ", " + (known ? printable(facts[host][i].value) : "not known") + " on " + names[host] + "; " +
             first.advice;
    }
  }
  return "";
}

HostLink::HostLink(const HostsOptions& options, int channels) : group_(comm::connect_hosts(channels)) {
  for (int i = 0; i < channels; ++i) channels_.push_back(group_->channel(i));
  std::vector<std::vector<Fact>> facts;
  for (const std::string& text : comm::gather_texts(*channels_.front(), to_text(options.facts))) {
    const json hello = json::parse(text);
    names_.push_back(hello.at("name"));
    facts.push_back(facts_of(hello));
  }
  const std::string difference = difference_of(names_, facts);
  if (difference.empty()) return;
  channels_.front()->barrier();  // all have read it: who ends takes the others with it
  throw Error(difference);
}

void HostLink::watch(std::function<void(const std::string&)> on_lost) {
  group_->watch(names_, std::move(on_lost));
}

std::unique_ptr<comm::Communicator> HostLink::channel(int index) {
  return std::move(channels_.at(static_cast<std::size_t>(index)));
}

}  // namespace evener::parallel
