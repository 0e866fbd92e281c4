"""What all services are asked by: calls that can be given up, proxies, errors."""
