// How a resource is written: a function of the sources and of what it is asked with.
#pragma once

#include <string_view>

#include "ops/rest/parameters.h"
#include "ops/rest/router.h"
#include "ops/rest/sources.h"

namespace eroica {

using ResourceHandler = HttpResponse (*)(const RestSources&, const HttpRequest&, Parameters&);

// A GET that needs the scope read. cacheable: see Route.
inline void AddResource(Router& router, const RestSources& sources, std::string_view pattern,
                        ResourceHandler resource, bool cacheable = true) {
  router.Get(
      pattern, Access::kRead,
      [&sources, resource](const HttpRequest& request, const PathArguments& arguments) {
        Parameters parameters(request, arguments);
        return resource(sources, request, parameters);
      },
      cacheable);
}

}  // namespace eroica
