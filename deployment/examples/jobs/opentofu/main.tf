# Sites, which stand for what a provider makes.
variable "sites" {
  type    = map(string)
  default = {}
}

resource "terraform_data" "site" {
  for_each = var.sites
  input    = each.value
}

output "sites" {
  value = { for name, site in terraform_data.site : name => site.output }
}
