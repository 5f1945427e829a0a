#include "parallel/host_link.h"

#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/message.h"
#include "base/names.h"
#include "comm/communicator.h"

namespace evener::parallel {
namespace {

/// The first message of each host to the others.
using Greeting = std::tuple<std::string, std::vector<Fact>>;  // host name and facts

}  // namespace

template <typename Visitor>
void describe(Visitor& visitor, Of<Fact> auto& fact) {
  visitor.value("what", fact.what);
  visitor.value("value", fact.value);
  visitor.value("advice", fact.advice);
}

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

HostLink::HostLink(const HostsOptions& options, int channels) : group_(comm::connect_hosts(channels + 1)) {
  for (int i = 0; i < channels; ++i) channels_.push_back(group_->channel(i));
  messages_ = group_->channel(channels);
  std::vector<std::vector<Fact>> facts;
  const std::string own = pack_message(Greeting(host_name(), options.facts));
  for (const std::string& message : comm::gather_messages(*channels_.front(), own)) {
    const std::string what = "the greeting of host " + std::to_string(names_.size());
    auto [name, its_facts] = unpack_message<Greeting>(message, what);
    names_.push_back(std::move(name));
    facts.push_back(std::move(its_facts));
  }
  const std::string difference = difference_of(names_, facts);
  if (difference.empty()) return;
  channels_.front()->barrier();  // wait until all have read it, since the end of one host ends the others
  throw Error(difference);
}

void HostLink::watch(std::function<void(const std::string&)> on_lost) {
  group_->watch(names_, std::move(on_lost));
}

std::vector<std::string> HostLink::gather(const std::string& own) {
  return comm::gather_messages(*messages_, own);
}

std::unique_ptr<comm::Communicator> HostLink::channel(int index) {
  return std::move(channels_.at(static_cast<std::size_t>(index)));
}

}  // namespace evener::parallel
